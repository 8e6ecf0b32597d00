//! `backwards` for any locale.
//!
//! The library compares accents from the end where a locale's data says so, which is Canadian French alone, and has
//! no option for it. So the data is handed to it through a provider that gives it as it is, with that one
//! bit of the locale's metadata as it was asked for.

use icu_collator::options::CollatorOptions;
use icu_collator::provider::{
    Baked as Collations, CollationDiacriticsV1, CollationJamoV1, CollationMetadata, CollationMetadataV1,
    CollationReorderingV1, CollationRootV1, CollationSpecialPrimariesV1, CollationTailoringV1,
};
use icu_collator::{Collator, CollatorPreferences};
use icu_normalizer::provider::{Baked as Normalizer, NormalizerNfdDataV1, NormalizerNfdTablesV1};
use icu_provider::{DataError, DataPayload, DataProvider, DataRequest, DataResponse};

/// The bit of a locale's metadata that says that accents compare from the end.
const BACKWARDS: u32 = 1 << 7;

/// A collator whose accents compare from the end, or do not, whatever the locale's own way.
pub(super) fn collator(
    backwards: bool,
    preferences: CollatorPreferences,
    options: CollatorOptions,
) -> Result<Collator, DataError> {
    Collator::try_new_unstable(&Changed { backwards }, preferences, options)
}

struct Changed {
    backwards: bool,
}

impl DataProvider<CollationMetadataV1> for Changed {
    fn load(&self, request: DataRequest<'_>) -> Result<DataResponse<CollationMetadataV1>, DataError> {
        let found = DataProvider::<CollationMetadataV1>::load(&Collations, request)?;
        let bits = found.payload.get().bits;
        let bits = if self.backwards { bits | BACKWARDS } else { bits & !BACKWARDS };
        Ok(DataResponse {
            payload: DataPayload::from_owned(CollationMetadata { bits }),
            metadata: found.metadata,
        })
    }
}

macro_rules! as_it_is {
    ($provider:expr => $($marker:ty),+) => {$(
        impl DataProvider<$marker> for Changed {
            fn load(&self, request: DataRequest<'_>) -> Result<DataResponse<$marker>, DataError> {
                DataProvider::<$marker>::load(&$provider, request)
            }
        }
    )+};
}

as_it_is!(Collations => CollationDiacriticsV1, CollationJamoV1, CollationReorderingV1, CollationRootV1);
as_it_is!(Collations => CollationSpecialPrimariesV1, CollationTailoringV1);
as_it_is!(Normalizer => NormalizerNfdDataV1, NormalizerNfdTablesV1);
