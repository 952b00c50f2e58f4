//! Variable-length integers.

use klog::format::varint::{
    MAX_VARINT_BYTES, MAX_VARLONG_BYTES, read_unsigned_varint, read_varint, read_varlong,
    varint_len, varlong_len, write_unsigned_varint, write_varint, write_varlong,
};

pub(super) fn body(data: &[u8]) {
    let mut out = Vec::new();
    if let Ok((value, len)) = read_varint(data) {
        assert!(len >= varint_len(value) && len <= MAX_VARINT_BYTES.min(data.len()));
        write_varint(&mut out, value);
        assert_eq!(out.len(), varint_len(value));
        assert_eq!(read_varint(&out).unwrap(), (value, out.len()));
        assert_eq!(
            read_varint(&data[..len]).unwrap(),
            (value, len),
            "nothing behind it counts"
        );
        assert!(read_varint(&data[..len - 1]).is_err(), "all of it counts");
    } else {
        let unfinished = data
            .iter()
            .take(MAX_VARINT_BYTES)
            .all(|byte| byte & 0x80 != 0);
        assert!(unfinished, "only an unfinished one is refused");
    }
    out.clear();
    if let Ok((value, len)) = read_varlong(data) {
        assert!(len >= varlong_len(value) && len <= MAX_VARLONG_BYTES.min(data.len()));
        write_varlong(&mut out, value);
        assert_eq!(out.len(), varlong_len(value));
        assert_eq!(read_varlong(&out).unwrap(), (value, out.len()));
        // Of the same bytes both make the same, as long as the short form is not too long for 32 bits.
        if let (Ok((short, short_len)), Ok(_)) = (read_varint(data), i32::try_from(value)) {
            assert_eq!((i64::from(short), short_len), (value, len));
        }
    }
    out.clear();
    if let Ok((value, len)) = read_unsigned_varint(data) {
        write_unsigned_varint(&mut out, value);
        assert!(out.len() <= len);
        assert_eq!(read_unsigned_varint(&out).unwrap(), (value, out.len()));
    }
    // As numbers.
    if let Some(bytes) = data.first_chunk() {
        let value = i64::from_be_bytes(*bytes);
        out.clear();
        write_varlong(&mut out, value);
        assert_eq!(read_varlong(&out).unwrap(), (value, varlong_len(value)));
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for value in [
        0,
        -1,
        63,
        -65,
        8192,
        i64::from(i32::MAX),
        i64::from(i32::MIN),
        i64::MAX,
        i64::MIN,
    ] {
        let mut out = Vec::new();
        write_varlong(&mut out, value);
        seeds.push(out);
        seeds.push(value.to_be_bytes().to_vec());
    }
    seeds.extend([
        vec![0x80; 5],
        vec![0x80; 10],
        vec![0x80, 0],
        vec![0xff, 0xff, 0xff, 0xff, 0x7f],
    ]);
    seeds
}
