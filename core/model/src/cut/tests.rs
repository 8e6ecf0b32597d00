use super::*;
use crate::arbitrary;
use crate::error::{Error, ErrorCode};
use crate::limits::MAX_DOCUMENT_BYTES;
use crate::raw::{RawDoc, RawValue};
use crate::split::Head;
use crate::types::ElementType as T;
use crate::value::OwnedValue;
use crate::view::{FetchValue, WholeDocument};
use proptest::prelude::*;
use std::cell::Cell;

/// Values in memory, counted as they are fetched.
#[derive(Default)]
struct Values {
    values: Vec<Vec<u8>>,
    fetched: Cell<usize>,
}

impl FetchValue for Values {
    fn fetch(&self, number: u8) -> Result<&[u8]> {
        self.fetched.set(self.fetched.get() + 1);
        let found = self.values.get(usize::from(number));
        found.map(Vec::as_slice).ok_or_else(|| Error::corrupt("no such value"))
    }
}

/// A document as it would lie in a file.
struct Stored {
    head: Vec<u8>,
    source: Values,
    whole: WholeDocument,
}

impl Stored {
    fn new(doc: &[u8]) -> Self {
        let (head, values) = match cut(&DocumentView::whole(RawDoc::framed(doc).unwrap())).unwrap() {
            None => (doc.to_vec(), Vec::new()),
            Some(cut) => (cut.head, cut.values.into_iter().map(new_bytes).collect()),
        };
        Stored { head, source: Values { values, ..Values::default() }, whole: WholeDocument::new() }
    }

    fn view(&self) -> DocumentView<'_> {
        DocumentView::of_head(&self.head, &self.source, &self.whole).unwrap()
    }
}

fn new_bytes(value: CutValue<'_>) -> Vec<u8> {
    match value {
        CutValue::New(bytes) => bytes.to_vec(),
        CutValue::Kept(_) => panic!("a whole document keeps nothing"),
    }
}

fn doc(fields: &[(&str, OwnedValue)]) -> Vec<u8> {
    arbitrary::document_of(
        &fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Vec<_>>(),
    )
}

/// A binary value with a payload of `len` bytes in all.
fn sized(len: usize, fill: u8) -> OwnedValue {
    let mut bytes = i32::try_from(len - 5).unwrap().to_le_bytes().to_vec();
    bytes.push(0);
    bytes.resize(len, fill);
    OwnedValue::from_vec(T::Binary, bytes)
}

fn large_value() -> impl Strategy<Value = OwnedValue> {
    let len = prop_oneof![Just(2047usize), Just(2048), 2040..2060usize, 2048..5000usize];
    (len, any::<u8>(), 0..5u8).prop_map(|(len, fill, kind)| match kind {
        0 => OwnedValue::string(&"x".repeat(len - 5)),
        1 => OwnedValue::document(doc(&[("b", sized(len - 8, fill))])),
        2 => OwnedValue::from_vec(T::Array, doc(&[("0", sized(len - 8, fill))])),
        3 => OwnedValue::new(T::Regex, format!("{}\0i\0", "r".repeat(len - 3)).as_bytes()),
        _ => sized(len, fill),
    })
}

/// Documents with large fields among small ones, names that repeat, and `_id`s anywhere.
fn document() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![3 => "[ab]{0,2}", 1 => Just("_id".to_owned())];
    let value = prop_oneof![large_value(), arbitrary::value()];
    prop::collection::vec((name, value), 0..24).prop_map(|fields| arbitrary::document_of(&fields))
}

proptest! {
    #[test]
    fn every_document_comes_back(bytes in document()) {
        let raw = RawDoc::framed(&bytes).unwrap();
        let stored = Stored::new(&bytes);
        let view = stored.view();
        prop_assert_eq!(view.len_bytes(), bytes.len());
        let mut cut_count = 0;
        for (field, element) in view.fields().zip(raw) {
            prop_assert_eq!(field.name_bytes(), element.name_bytes());
            prop_assert_eq!(field.ty(), element.value.ty);
            prop_assert_eq!(field.len_bytes(), element.value.bytes.len());
            prop_assert_eq!(view.type_of(field.name()), raw.get(field.name()).map(|v| v.ty));
            cut_count += usize::from(field.cut().is_some());
            let may_be_cut = element.name() != "_id" && element.value.bytes.len() >= MIN_CUT_BYTES;
            prop_assert!(may_be_cut || field.cut().is_none());
        }
        prop_assert_eq!(view.fields().count(), raw.iter().count());
        let large = raw.iter().filter(|e| e.name() != "_id" && e.value.bytes.len() >= MIN_CUT_BYTES).count();
        prop_assert_eq!(cut_count, large.min(MAX_CUTS));
        // Storing it again writes nothing, and none of all this fetched anything.
        match cut(&view).unwrap() {
            None => prop_assert_eq!(cut_count, 0),
            Some(again) => {
                prop_assert_eq!(&again.head, &stored.head);
                let kept: Vec<_> = (0..cut_count).map(|n| CutValue::Kept(n as u8)).collect();
                prop_assert_eq!(again.values.as_slice(), kept.as_slice());
            }
        }
        prop_assert_eq!(stored.source.fetched.get(), 0);
        for element in raw {
            prop_assert_eq!(view.get(element.name()).unwrap(), raw.get(element.name()));
        }
        let mut behind = b"before".to_vec();
        view.append_to(&mut behind).unwrap();
        prop_assert_eq!(&behind[6..], &bytes[..]);
        prop_assert_eq!(view.to_doc().unwrap().as_bytes(), &bytes[..]);
        prop_assert!(view.is_same(&DocumentView::whole(raw)).unwrap());
        prop_assert!(DocumentView::whole(raw).is_same(&view).unwrap());
    }

    #[test]
    fn damaged_heads_are_errors_or_other_documents(
        bytes in document(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        at_the_end in any::<bool>(),
        cut_off in 0..12usize,
    ) {
        let mut stored = Stored::new(&bytes);
        let len = stored.head.len();
        for (at, value) in changes {
            let at = if at_the_end { len - 1 - at.index(len.min(40)) } else { at.index(len) };
            stored.head[at] = value;
        }
        stored.head.truncate(len.saturating_sub(cut_off));
        read_everything(&stored);
    }

    #[test]
    fn any_bytes_can_be_read(head in prop::collection::vec(prop_oneof![Just(0u8), 0..20u8, any::<u8>()], 0..80)) {
        let mut framed = head.clone();
        if framed.len() >= 4 {
            // Long enough to get past the first look more often.
            let len = framed.len() as i32;
            framed[..4].copy_from_slice(&len.to_le_bytes());
        }
        for head in [head, framed] {
            read_everything(&Stored { head, source: Values::default(), whole: WholeDocument::new() });
        }
    }
}

/// Whatever comes of it, nothing panics, and nothing is read that is not there.
fn read_everything(stored: &Stored) {
    let Ok(view) = DocumentView::of_head(&stored.head, &stored.source, &stored.whole) else { return };
    for field in view.fields() {
        let _ = (field.value().is_ok(), view.get(field.name()).is_ok());
    }
    let _ = (view.get("_id").is_ok(), view.type_of("a"), cut(&view).is_ok());
    let restored = view.to_doc().map(|doc| doc.as_bytes().len());
    assert!(restored.is_err() || restored == Ok(view.len_bytes()));
}

#[test]
fn the_size_that_is_cut_begins_at_two_kibibytes() {
    let bytes = doc(&[("_id", sized(5000, 1)), ("a", sized(2047, 2)), ("b", sized(2048, 3))]);
    let stored = Stored::new(&bytes);
    let cut: Vec<_> =
        stored.view().fields().filter(|f| f.cut().is_some()).map(|f| f.name().to_owned()).collect();
    assert_eq!(cut, ["b"]);
    let small = doc(&[("a", sized(2047, 2))]);
    assert_eq!(Stored::new(&small).head, small);
}

#[test]
fn of_many_large_values_the_largest_are_cut() {
    let names: Vec<String> = (0..20).map(|n| format!("f{n}")).collect();
    // Sizes out of order: 7 has no common divisor with 20.
    let fields: Vec<_> =
        names.iter().enumerate().map(|(n, name)| (name.as_str(), sized(3000 + n * 7 % 20, 1))).collect();
    let bytes = doc(&fields);
    let stored = Stored::new(&bytes);
    let view = stored.view();
    for field in view.fields() {
        assert_eq!(field.cut().is_some(), field.len_bytes() >= 3004, "{field:?}");
    }
    assert_eq!(stored.source.values.len(), MAX_CUTS);
    assert_eq!(view.to_vec().unwrap(), bytes);
}

#[test]
fn the_largest_documents() {
    let few = doc(&[("_id", OwnedValue::from(1)), ("a", sized(MAX_DOCUMENT_BYTES - 5 - 9 - 3, 7))]);
    let many: Vec<_> = (0..8000).map(|_| ("n", sized(2094, 3))).collect();
    let many = doc(&many);
    assert_eq!((few.len(), many.len() > MAX_DOCUMENT_BYTES - 32 * 1024), (MAX_DOCUMENT_BYTES, true));
    for bytes in [few, many] {
        let stored = Stored::new(&bytes);
        assert_eq!(stored.view().to_vec().unwrap(), bytes);
        assert!(cut(&stored.view()).unwrap().is_some());
    }
    let stored = Stored::new(&doc(&[("a", sized(MAX_DOCUMENT_BYTES - 8, 7))]));
    assert!(stored.head.len() < 32, "{}", stored.head.len());
}

#[test]
fn what_is_kept_elsewhere_stays_there_when_larger_values_come() {
    let names: Vec<String> = (0..16).map(|n| format!("f{n}")).collect();
    let fields: Vec<_> = names.iter().map(|name| (name.as_str(), sized(2048, 1))).collect();
    let stored = Stored::new(&doc(&fields));
    // The head as an update would leave it: a further field, larger than all.
    let mut head = Vec::from([0; 4]);
    let mut cuts = CutList::default();
    for field in stored.view().fields().skip(1) {
        head.push(field.ty() as u8);
        head.extend_from_slice(field.name_bytes());
        head.push(0);
        let known = field.cut().unwrap();
        cuts.note(head.len(), known.len_bytes, known.number);
    }
    for name in ["x", "y"] {
        head.push(T::Binary as u8);
        head.extend_from_slice(&[name.as_bytes()[0], 0]);
        head.extend_from_slice(sized(if name == "y" { 4000 } else { 3000 }, 9).as_ref().bytes);
    }
    head.push(0);
    cuts.finish(&mut head, 0);
    // `finish` counts what is there and what was cut out.
    let whole = WholeDocument::new();
    let after = stored.view().derived(&head, &whole);
    let after = after.unwrap();
    let again = cut(&after).unwrap().unwrap();
    let kept: Vec<_> =
        again.values.iter().filter_map(|v| if let CutValue::Kept(n) = v { Some(*n) } else { None }).collect();
    assert_eq!(kept, (1..16).collect::<Vec<u8>>());
    assert!(matches!(again.values.last(), Some(CutValue::New(bytes)) if bytes.len() == 4000));
    assert_eq!(stored.source.fetched.get(), 0);
}

#[test]
fn a_value_that_is_not_what_was_stored_names_its_place() {
    let bytes = doc(&[
        ("_id", OwnedValue::from(7)),
        ("a", sized(3000, 1)),
        ("b", sized(3000, 2)),
        ("n", OwnedValue::from(1)),
    ]);
    for damaged in [vec![], vec![0; 2999], vec![0xFF; 3000]] {
        let mut stored = Stored::new(&bytes);
        stored.source.values[1] = damaged;
        let view = stored.view();
        assert_eq!(view.get("n").unwrap(), Some(OwnedValue::from(1).as_ref()));
        assert!(view.get("a").is_ok());
        for error in [view.get("b").unwrap_err(), view.to_doc().unwrap_err(), view.to_vec().unwrap_err()] {
            assert_eq!(error.code(), ErrorCode::DataCorruptionDetected);
            assert!(
                error.message().starts_with("field 'b' of the document with _id: 7 cannot be read: "),
                "{error}"
            );
        }
    }
}

#[test]
fn the_document_is_put_together_once_and_only_containers_are_looked_into() {
    let inner = OwnedValue::document(doc(&[("x", sized(2500, 1))]));
    let stored = Stored::new(&doc(&[("s", sized(3000, 1)), ("d", inner)]));
    let view = stored.view();
    assert_eq!(view.get_container("s").unwrap(), None);
    assert_eq!(stored.source.fetched.get(), 0);
    assert_eq!(view.get_container("d").unwrap().map(|v| v.ty), Some(T::Document));
    assert_eq!(stored.source.fetched.get(), 1);
    assert!(view.as_whole().is_none());
    let first = view.to_doc().unwrap().as_bytes().as_ptr();
    assert_eq!(view.to_doc().unwrap().as_bytes().as_ptr(), first);
    assert_eq!(view.as_whole().unwrap().as_bytes().as_ptr(), first);
    assert_eq!(stored.source.fetched.get(), 3);
}

#[test]
fn heads_say_what_they_are_by_their_last_byte() {
    let whole = doc(&[("a", OwnedValue::from(1))]);
    assert!(Head::parse(&whole).unwrap().is_whole());
    let stored = Stored::new(&doc(&[("a", sized(2048, 1)), ("n", RawValue::NULL.into())]));
    assert_eq!(stored.head.last(), Some(&1));
    // Length, two headers, the end; position, length, number; the count.
    assert_eq!(stored.head.len(), 4 + 3 + 3 + 1 + 9 + 1);
    let head = Head::parse(&stored.head).unwrap();
    assert_eq!((head.len_bytes(), head.cuts().count()), (4 + 3 + 2048 + 3 + 1, 1));
}
