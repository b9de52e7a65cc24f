"""Both sides work on one bucket of an S3 server, by turns, and give everything in it the same keys.

The server is the program that the variable `ICEFIELD_TEST_S3` names. It prints where it is, answers a prefix on its
input with the objects below it, and ends when its input does: with this process, whatever becomes of it.
"""

import json
import os
import re
import subprocess
import urllib.parse

import icechunk
import zarr

import every_operation
import reference
import taking_turns
from lib import ROOT, SPEC, Skip, assert_same, case, commit, dump, icefield, session, set_json, write

# Names that some layer or other would like to encode, decode, cut or take for a path.
ODD_NAMES = [
    "odd name {x} é~%#", "a%20b", "%2F", "100%", "q?x=1&y", "a+b", "日本", "🧊", "star*", "'\"`", "<>|^[]",
    ":=@,;$!()", "branch.main", "tag.v1", "a..b", ".", "..", "double  space", "ref.json", "e\u0301",
]
# 1.x makes a slash of it, as if it were a path on Windows: `refs/branch.back/slash/ref.json`.
BACKSLASH = "back\\slash"
ODD_NAMES += [BACKSLASH] if reference.NEWER else []
# Names that we read and do not make.
FOREIGN_NAMES = [" ends ", "tab\there", ""]


class Server:
    """An S3 server with one bucket, for as long as the `with` lasts."""

    def __enter__(self):
        self.process = subprocess.Popen([os.environ["ICEFIELD_TEST_S3"]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.at = json.loads(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def objects(self, prefix):
        """What the server has below a prefix: key → `length`, `content_type`, `metadata`."""
        self.process.stdin.write(f"{prefix}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Place:
    """A repository in the bucket. As text it is the location that our programs open."""

    def __init__(self, server, prefix):
        self.server = server
        self.prefix = prefix
        self.environment = {
            "AWS_ACCESS_KEY_ID": server.at["access_key"], "AWS_SECRET_ACCESS_KEY": server.at["secret_key"],
            # Nothing of whoever runs this.
            "AWS_SESSION_TOKEN": "", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def __str__(self):
        path = urllib.parse.quote(self.prefix)
        return f"s3://{self.server.at['bucket']}/{path}?region=us-east-1&endpoint={self.server.at['endpoint']}"

    def reference_storage(self):
        at = self.server.at
        return icechunk.s3_storage(
            bucket=at["bucket"], prefix=self.prefix, region="us-east-1", endpoint_url=at["endpoint"], allow_http=True,
            access_key_id=at["access_key"], secret_access_key=at["secret_key"], force_path_style=True)

    def objects(self):
        """What the server has of this repository, by keys relative to it."""
        begin = f"{self.prefix}/" if self.prefix else ""
        return {key.removeprefix(begin): value for key, value in self.server.objects(begin).items()}


class Granted(Place):
    """A folder of the bucket that may be read with its keys."""

    def __str__(self):
        return f"{super().__str__()}&credentials"


def assert_layout(place):
    """Asserts that nothing lies in the repository but what the format knows."""
    state = {1: r"config\.yaml|refs/(branch|tag)\.[^/]*/ref\.json|refs/tag\.[^/]*/ref\.json\.deleted",
             2: r"repo|overwritten/repo\.[0-9]+\.[0-9A-HJKMNP-TV-Z]{20}"}
    known = re.compile(rf"(snapshots|manifests|transactions|chunks)/[0-9A-HJKMNP-TV-Z]{{19}}[0G]|{state[SPEC]}")
    keys = place.objects()
    assert not [key for key in keys if not known.fullmatch(key)], sorted(keys)
    return keys


@case
def our_repository_ten_rounds(_):
    with Server() as server:
        place = Place(server, "sea/ours")
        write(place, [{"op": "create"}])
        taking_turns.take_turns(place, lambda number: number % 2 == 0)
        kinds = {key.split("/")[0] for key in assert_layout(place)}
        state = {1: {"refs"}, 2: {"repo", "overwritten"}}
        assert kinds == state[SPEC] | {"snapshots", "manifests", "transactions", "chunks"}


@case
def their_repository_ten_rounds(_):
    with Server() as server:
        place = Place(server, "sea/theirs")
        # One that differs from the default is stored, in version 1 as `config.yaml`.
        reference.create(place, config=icechunk.RepositoryConfig(inline_chunk_threshold_bytes=16))
        assert ("config.yaml" in place.objects()) == (SPEC == 1)
        taking_turns.take_turns(place, lambda number: number % 2 == 1)
        assert_layout(place)


@case
def every_operation_of_version_2_twenty_rounds(_):
    if SPEC == 1:
        raise Skip("version 1 has neither amended nor flushed snapshots")
    with Server() as server:
        place = Place(server, "sea/both")
        write(place, [{"op": "create"}])
        every_operation.in_turns(place, 20, "theirs")


@case
def a_session_of_theirs_loses_to_a_commit_of_ours(_):
    with Server() as server:
        taking_turns.lose_to_our_commit(Place(server, "sea"))


@case
def prefixes_are_the_same(_):
    # 2.3.0 does not encode the prefix when it copies `repo`, so that it cannot commit below an odd one.
    odd = ["odd é {x}~%#/a%20b+c?d=e&f"] if SPEC == 1 else []
    for prefix in ["", "a/b/c", *odd]:
        with Server() as server:
            place = Place(server, prefix)
            write(place, [{"op": "create"}])
            theirs = reference.open(place).writable_session("main")
            zarr.create_group(theirs.store, attributes={"by": "them"})
            theirs.commit("theirs")
            write(place, [session(), set_json("a/zarr.json", taking_turns.group("us", 1)), commit("ours")])
            found = reference.assert_agreement(place)
            assert len(found["snapshots"]) == 3
            assert set(assert_layout(place)) and len(server.objects("")) == len(place.objects())
            assert "ours" in icefield("log", place)


def name_ours(place):
    """Branches, tags and tombstones of all these names, made by us."""
    write(place, [{"op": "create"}, session(), set_json("zarr.json", taking_turns.group("us", 0)), commit("one")])
    operations = []
    for name in ODD_NAMES:
        operations += [{"op": "branch", "name": name, "from": "main"}, {"op": "tag", "name": name, "from": "main"},
                       {"op": "branch", "name": f"gone {name}", "from": "main"},
                       {"op": "tag", "name": f"gone {name}", "from": "main"},
                       {"op": "delete_branch", "name": f"gone {name}"}, {"op": "delete_tag", "name": f"gone {name}"}]
    write(place, operations)


def name_theirs(place):
    """The same by the reference."""
    repository = reference.create(place)
    theirs = repository.writable_session("main")
    zarr.create_group(theirs.store)
    tip = theirs.commit("one")
    for name in ODD_NAMES:
        for each in [name, f"gone {name}"]:
            repository.create_branch(each, tip)
            repository.create_tag(each, tip)
        repository.delete_branch(f"gone {name}")
        repository.delete_tag(f"gone {name}")


@case
def odd_names_of_refs_have_the_same_keys(_):
    with Server() as server:
        ours, theirs = Place(server, "ours"), Place(server, "theirs")
        name_ours(ours)
        name_theirs(theirs)
        if SPEC == 1:
            refs = [{key: {"length": value["length"]} for key, value in place.objects().items() if key.startswith("refs/")}
                    for place in (ours, theirs)]
            assert_same(refs[0], refs[1])
            assert f"refs/branch.{ODD_NAMES[0]}/ref.json" in refs[0]
            assert len(refs[0]) == 1 + 4 * len(ODD_NAMES)
        gone = [f"gone {name}" for name in ODD_NAMES]
        for place in (ours, theirs):
            reference.assert_agreement(place, ["main", *ODD_NAMES], ODD_NAMES, gone)


@case
def both_commit_on_odd_branches_and_keep_tags_gone(_):
    with Server() as server:
        place = Place(server, "sea")
        name_ours(place)
        repository = reference.open(place)
        for number, name in enumerate(ODD_NAMES):
            theirs = repository.writable_session(name)
            zarr.create_group(theirs.store, path="theirs", attributes={"branch": name})
            theirs.commit(f"theirs on {name}")
            # A deleted tag's name stays taken, whoever deleted it.
            try:
                repository.create_tag(f"gone {name}", repository.lookup_branch("main"))
            except icechunk.IcechunkError:
                pass
            else:
                raise AssertionError(f"the reference made the tag {name!r} again")
            repository.delete_tag(name)
            write(place, [session(name), set_json("ours/zarr.json", taking_turns.group("us", number)), commit("ours")])
        gone = [*ODD_NAMES, *(f"gone {name}" for name in ODD_NAMES)]
        found = reference.assert_agreement(place, ["main", *ODD_NAMES], [], gone)
        assert len(found["snapshots"]) == 2 + 2 * len(ODD_NAMES)
        assert_layout(place)


@case
def a_backslash_in_a_name_of_1x(_):
    """Where 1.x puts such refs nobody looks for them by their name; they hinder nothing else."""
    if reference.NEWER:
        raise Skip("2.x keeps the backslash")
    with Server() as server:
        place = Place(server, "sea")
        repository = reference.create(place)
        repository.create_branch(BACKSLASH, repository.lookup_branch("main"))
        repository.create_tag(BACKSLASH, repository.lookup_branch("main"))
        strays = ["refs/branch.back/slash/ref.json", "refs/tag.back/slash/ref.json"]
        assert set(strays) < set(place.objects())
        # It lists half of the name, as a branch that cannot be looked up, and no tag.
        assert repository.list_branches() == {"back", "main"} and repository.list_tags() == set()
        found = dump(place)
        assert (set(found["branches"]), found["tags"], sorted(found["strays"])) == ({"main"}, {}, strays)
        write(place, [session(), set_json("zarr.json", taking_turns.group("us", 0)), commit("ours")])
        assert [info.message for info in reference.open(place).ancestry(branch="main")][0] == "ours"


@case
def names_that_only_they_make_are_read(_):
    with Server() as server:
        place = Place(server, "sea")
        repository = reference.create(place)
        tip = repository.lookup_branch("main")
        for name in FOREIGN_NAMES:
            repository.create_branch(name, tip)
            repository.create_tag(name, tip)
        reference.assert_agreement(place, ["main", *FOREIGN_NAMES], FOREIGN_NAMES)


@case
def objects_say_the_same_of_themselves(_):
    """What a server keeps beside the bytes: content types, and the metadata that nobody needs."""
    with Server() as server:
        places = Place(server, "ours"), Place(server, "theirs")
        write(places[0], [{"op": "create"}])
        reference.create(places[1])
        taking_turns.our_turn(places[0], 0, bytes(range(200)) * 3)
        taking_turns.their_turn(places[1], 0, list(range(200)) * 3)
        described = [described_by_kind(place) for place in places]
        if reference.NEWER and SPEC == 1:
            # It calls a ref what it is; we, as 1.x does, just bytes.
            assert described[1]["refs"]["content_type"] == "application/json"
            described[1]["refs"]["content_type"] = described[0]["refs"]["content_type"]
        assert_same(described[0], described[1])


def described_by_kind(place):
    """Content type and metadata of the objects of each kind, without what differs from writer to writer and from
    write to write. Underscores, as in `ic_spec_ver`, are left out by 2.x."""
    ids = "icclient", "icefield-write-id", "icechunkwriteid"
    kinds = {}
    for key, value in place.objects().items():
        metadata = {name.replace("_", ""): text for name, text in value["metadata"].items()}
        metadata = {name: text for name, text in metadata.items() if name not in ids}
        described = {"content_type": value["content_type"], "metadata": metadata}
        assert_same(kinds.setdefault(key.split("/")[0], described), described)
    return kinds


@case
def references_to_a_bucket(work):
    """The reference opens what refers to objects of a bucket: it must understand the container in the configuration."""
    with Server() as server:
        place = Place(server, "sea/files")
        icefield("init", place)
        icefield("import", ROOT / "fixtures" / "ocean" / "ostia_monthly.nc", place)
        key, length = max((key, facts["length"]) for key, facts in place.objects().items() if key.startswith("chunks/"))
        url = f"s3://{server.at['bucket']}/sea/files/{key}"
        array = {"zarr_format": 2, "shape": [length], "chunks": [length], "dtype": "|u1", "order": "C", "fill_value": 0,
                 "filters": None, "compressor": None}
        references = work / "references.json"
        references.write_text(json.dumps({".zgroup": '{"zarr_format": 2}', "a/.zarray": json.dumps(array), "a/0": [url]}))
        grant = Granted(server, "sea")
        icefield("init", work / "r")
        icefield("import", references, work / "r", "--virtual", "--grant", grant)
        repository = icechunk.Repository.open(icechunk.local_filesystem_storage(str(work / "r")))
        assert repository.readonly_session("main").all_virtual_chunk_locations() == [url]
        [prefix] = json.loads(icefield("info", work / "r", "-l", "--json"))["chunks"]["containers"]
        assert url.startswith(prefix) and prefix in repository.config.virtual_chunk_containers, prefix
