//! Packings that the crate `grib` unpacks: complex packing, JPEG 2000, PNG and CCSDS.
//!
//! It computes values in single precision. Told that the reference value is 0 and that nothing is scaled, it hands on the
//! whole numbers themselves, of which those of up to 24 bits are exact. What would have it reserve memory is compared with
//! the number of values first.

use grib::Grib2SubmessageDecoder;

use super::super::octets::Octets;
use super::super::problem::GribProblem;
use super::bits::Bits;

/// The first bytes of a PNG image, and the number of its bytes up to the end of its header.
const PNG: (&[u8; 8], usize) = (b"\x89PNG\r\n\x1a\n", 26);
/// The first bytes of a code stream of JPEG 2000: the marker of its start, and that of its size.
const JPEG_2000: &[u8; 4] = &[0xff, 0x4f, 0xff, 0x51];

/// Refuses what the crate does not unpack of templates 5.2 and 5.3, before any data are read.
pub(super) fn check_kind(octets: &Octets<'_>, template: u16) -> Result<(), GribProblem> {
    let (splitting, missing) = (octets.u8(22)?, octets.u8(23)?);
    if splitting != 1 {
        return Err(GribProblem::unsupported(
            5,
            "the way groups are split",
            splitting,
        ));
    }
    if missing > 2 {
        return Err(GribProblem::unsupported(
            5,
            "the management of missing values",
            missing,
        ));
    }
    if template == 3 {
        let order = octets.u8(48)?;
        if !matches!(order, 1 | 2) {
            return Err(GribProblem::unsupported(
                5,
                "the order of spatial differencing",
                order,
            ));
        }
    }
    Ok(())
}

/// Hands on the whole numbers of a field with so many values.
pub(super) fn unpack(
    template: u16,
    section: &[u8],
    data: &[u8],
    count: usize,
    take: &mut dyn FnMut(f64),
) -> Result<(), GribProblem> {
    let octets = Octets::new(5, section);
    let packed = Octets::new(7, data).rest(6);
    let mut plain = section.to_vec();
    // Reference value, binary and decimal scale factors.
    plain[11..19].fill(0);
    // Whether the values were whole numbers does not change how they are packed.
    plain[20] = 0;
    match template {
        2 | 3 => {
            if octets.u32(32)? == 0 {
                // No groups: all values are the reference value.
                (0..count).for_each(|_| take(0.0));
                return Ok(());
            }
            check_groups(&octets, template, packed, count)?;
        }
        40 => check_code_stream(packed, count)?,
        41 => plain[19] = check_image(packed, count)?,
        _ => {}
    }
    let no_bitmap = vec![0, 0, 0, 6, 6, 255];
    let failed = |error: grib::GribError| GribProblem::damaged(7, error.to_string());
    let decoder = Grib2SubmessageDecoder::new(count, plain, no_bitmap, data.to_vec());
    let decoder = decoder.map_err(failed)?;
    let mut taken = 0;
    for value in decoder.dispatch().map_err(failed)?.take(count) {
        take(value.into());
        taken += 1;
    }
    match taken == count {
        true => Ok(()),
        false => {
            let problem = format!("it has {taken} values and not {count}");
            Err(GribProblem::damaged(7, problem))
        }
    }
}

/// Adds up the lengths of the groups, each of which the crate makes room for.
fn check_groups(
    octets: &Octets<'_>,
    template: u16,
    packed: &[u8],
    count: usize,
) -> Result<(), GribProblem> {
    let groups = octets.u32(32)? as usize;
    let wrong = |problem: String| Err(GribProblem::damaged(5, problem));
    if groups > count {
        return wrong(format!("it states {groups} groups of {count} values"));
    }
    let [of_reference, of_width, of_length] = [octets.u8(20)?, octets.u8(37)?, octets.u8(47)?];
    if of_reference > 32 || of_width > 32 || of_length > 32 {
        return wrong("its groups are described by more than 32 bits".to_owned());
    }
    let (shortest, unit) = (u64::from(octets.u32(38)?), u64::from(octets.u8(42)?));
    let bytes = |bits: u8| (groups * usize::from(bits)).div_ceil(8);
    let ahead = match template {
        3 => (usize::from(octets.u8(48)?) + 1) * usize::from(octets.u8(49)?),
        _ => 0,
    };
    let first = ahead + bytes(of_reference) + bytes(of_width);
    let lengths = packed.get(first..).unwrap_or(&[]);
    let mut reader = Bits::new(lengths);
    reader.check(groups, of_length)?;
    let mut all = u64::from(octets.u32(43)?);
    for _ in 1..groups {
        let length = u64::from(reader.next(of_length)) * unit + shortest;
        all = all.saturating_add(length);
    }
    match all == count as u64 {
        true => Ok(()),
        false => wrong(format!("its groups have {all} values and not {count}")),
    }
}

/// Compares the size that a code stream of JPEG 2000 states with the number of values.
fn check_code_stream(packed: &[u8], count: usize) -> Result<(), GribProblem> {
    let octets = Octets::new(7, packed);
    if octets.get(1, 4)? != JPEG_2000 {
        return Err(GribProblem::damaged(7, "it is no code stream of JPEG 2000"));
    }
    // Behind the length of the segment and the capabilities.
    let side = |end, begin| -> Result<u64, GribProblem> {
        let length = octets.u32(end)?.checked_sub(octets.u32(begin)?);
        Ok(length.unwrap_or(0).into())
    };
    let (width, height) = (side(9, 17)?, side(13, 21)?);
    let components = octets.u16(41)?;
    match width.checked_mul(height) {
        Some(points) if points == count as u64 && components == 1 => Ok(()),
        _ => {
            let problem = format!(
                "its image has {width} x {height} points of {components} components, and {count} values are stated"
            );
            Err(GribProblem::damaged(7, problem))
        }
    }
}

/// Compares the size that a PNG image states with the number of values. Returns the bits of a pixel, which may be more than
/// those of a value.
fn check_image(packed: &[u8], count: usize) -> Result<u8, GribProblem> {
    if !packed.starts_with(PNG.0) || packed.len() < PNG.1 {
        return Err(GribProblem::damaged(7, "it is no PNG image"));
    }
    let octets = Octets::new(7, packed);
    let (width, height) = (u64::from(octets.u32(17)?), u64::from(octets.u32(21)?));
    let channels = match octets.u8(26)? {
        0 => 1,
        2 => 3,
        4 => 2,
        6 => 4,
        kind => {
            return Err(GribProblem::unsupported(
                5,
                "the colours of the PNG image",
                kind,
            ));
        }
    };
    let bits = octets.u8(25)?.saturating_mul(channels);
    if width.checked_mul(height) != Some(count as u64) {
        let problem =
            format!("its image has {width} x {height} points, and {count} values are stated");
        return Err(GribProblem::damaged(7, problem));
    }
    // Its rows begin at whole bytes, and the values of shorter ones would have to be counted out.
    if bits > 32 || !(width * u64::from(bits)).is_multiple_of(8) {
        return Err(GribProblem::unsupported(
            5,
            "the number of bits of a pixel",
            bits,
        ));
    }
    Ok(bits)
}
