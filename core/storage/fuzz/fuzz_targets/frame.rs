#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| multifora_storage::sim::bytes::frame(data));
