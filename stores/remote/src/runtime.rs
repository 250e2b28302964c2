//! One runtime for the process, whatever the number of stores and handles.

use orbweaver_engine::store::StoreError;
use std::future::Future;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// Sockets are waited for here; the threads that ask do the work.
const THREADS: usize = 2;

static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();

/// Waits for a future on the calling thread. Not to be called within asynchronous code: the thread stands still.
///
/// # Errors
/// [`StoreError::Io`] where the system gives no threads.
pub fn block_on<F: Future>(future: F) -> Result<F::Output, StoreError> {
    let runtime = RUNTIME.get_or_init(|| {
        let built = Builder::new_multi_thread().worker_threads(THREADS).thread_name("store").enable_io().enable_time().build();
        built.map_err(|error| error.to_string())
    });
    match runtime {
        Ok(runtime) => Ok(runtime.block_on(future)),
        Err(error) => Err(StoreError::Io(format!("no threads to wait for the store: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn threads_wait_for_their_futures_at_the_same_time() {
        let waiting: Vec<_> = (0..4_u64)
            .map(|number| {
                std::thread::spawn(move || {
                    block_on(async {
                        tokio::time::sleep(Duration::from_millis(number)).await;
                        number
                    })
                })
            })
            .collect();
        let numbers: Vec<u64> = waiting.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
}
