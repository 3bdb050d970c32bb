//! The bindings are generated and checked in. A change of the contract without `scripts/bindings.sh` shows here, without the generator.

use std::fs;
use std::path::Path;

/// The checksum of POSIX `cksum`, which the script uses.
fn cksum(bytes: &[u8]) -> u32 {
    let len = bytes.len() as u64;
    let significant = 8 - len.leading_zeros() as usize / 8;
    let all = bytes.iter().copied().chain(len.to_le_bytes().into_iter().take(significant));
    !all.fold(0_u32, |crc, byte| (0..8).fold(crc ^ (u32::from(byte) << 24), |crc, _| (crc << 1) ^ (0x04C1_1DB7 * (crc >> 31))))
}

#[test]
fn bindings_are_those_of_the_contract() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut want = Vec::new();
    for entry in fs::read_dir(root.join("wit")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "wit") {
            let bytes = fs::read(&path).unwrap();
            want.push(format!("{} {} {}", cksum(&bytes), bytes.len(), path.file_name().unwrap().to_str().unwrap()));
        }
    }
    want.sort_by(|a, b| a.rsplit(' ').next().cmp(&b.rsplit(' ').next()));
    for folder in ["guest-sdk/src/bindings", "tests/guests/c/bindings"] {
        let found = fs::read_to_string(root.join(folder).join("wit.cksum")).unwrap();
        assert_eq!(found.lines().collect::<Vec<_>>(), want, "wit/ has changed since {folder} was made: run scripts/bindings.sh");
    }
}

#[test]
fn the_checksum_is_that_of_posix() {
    assert_eq!(cksum(b""), 4_294_967_295);
    assert_eq!(cksum(b"123456789"), 930_766_865);
}
