//! What is the same text in both drafts, over the types that are generated for each.

/// Exports `store`, and of `batch` what the drafts have alike, for a type `Adapter` and the modules `store` and `batch`.
/// `$list` is the way through the keys whose cursor is a `$cursor`.
#[macro_export]
macro_rules! adapt {
    ($list:ident, $cursor:ty) => {
        struct Adapter;

        impl From<$crate::Error> for store::Error {
            fn from(error: $crate::Error) -> Self {
                match error {
                    $crate::Error::NoSuchStore => Self::NoSuchStore,
                    $crate::Error::AccessDenied => Self::AccessDenied,
                    $crate::Error::Other(text) => Self::Other(text),
                }
            }
        }

        impl store::Guest for Adapter {
            type Bucket = $crate::Bucket;

            fn open(identifier: String) -> Result<store::Bucket, store::Error> {
                Ok(store::Bucket::new($crate::Bucket::open(&identifier)?))
            }
        }

        impl store::GuestBucket for $crate::Bucket {
            fn get(&self, key: String) -> Result<Option<Vec<u8>>, store::Error> {
                Ok(self.get(&key)?)
            }

            fn set(&self, key: String, value: Vec<u8>) -> Result<(), store::Error> {
                Ok(self.set(&key, &value)?)
            }

            fn delete(&self, key: String) -> Result<(), store::Error> {
                Ok(self.delete(&key)?)
            }

            fn exists(&self, key: String) -> Result<bool, store::Error> {
                Ok(self.exists(&key)?)
            }

            fn list_keys(&self, cursor: Option<$cursor>) -> Result<store::KeyResponse, store::Error> {
                let (keys, cursor) = self.$list(cursor)?;
                Ok(store::KeyResponse { keys, cursor })
            }
        }

        impl batch::Guest for Adapter {
            fn get_many(bucket: store::BucketBorrow<'_>, keys: Vec<String>) -> Result<Vec<Found>, store::Error> {
                let found = bucket.get::<$crate::Bucket>().get_many(keys)?;
                Ok(found.into_iter().map(as_found).collect())
            }

            fn set_many(bucket: store::BucketBorrow<'_>, pairs: Vec<(String, Vec<u8>)>) -> Result<(), store::Error> {
                Ok(bucket.get::<$crate::Bucket>().set_many(pairs)?)
            }

            fn delete_many(bucket: store::BucketBorrow<'_>, keys: Vec<String>) -> Result<(), store::Error> {
                Ok(bucket.get::<$crate::Bucket>().delete_many(&keys)?)
            }
        }

        bindings::export!(Adapter with_types_in bindings);
    };
}
