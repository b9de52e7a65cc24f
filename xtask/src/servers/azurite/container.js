// Makes a container: nothing else of the project can, because icefield never makes one. The request has to be signed,
// and node, which runs the server, brings what that takes.
// Arguments: the URL of the account, its name, its key, the name of the container.
const { createHmac } = require("node:crypto");
const [endpoint, account, key, container] = process.argv.slice(-4);
const url = new URL(`${endpoint}/${container}?restype=container`);
const headers = { "x-ms-date": new Date().toUTCString(), "x-ms-version": "2021-12-02" };
const canonical = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`).join("");
// The path already begins with the account, as an emulator has it.
const text = `PUT${"\n".repeat(12)}${canonical}/${account}${url.pathname}\nrestype:container`;
const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text, "utf8").digest("base64");
headers.authorization = `SharedKey ${account}:${signature}`;
fetch(url, { method: "PUT", headers }).then(async (answer) => {
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
}).catch((error) => { console.error(error); process.exit(1); });
