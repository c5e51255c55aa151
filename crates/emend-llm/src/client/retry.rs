//! Retries calls that may succeed later. Providers and clients never retry: they return the first error. Callers wrap a
//! call in [`retry`] or [`retry_stream`].

use std::future::Future;

use futures::StreamExt;
use futures::future::{Either, select};

use crate::error::{ErrorKind, LlmError};
use crate::model::StreamEvent;
use crate::provider::EventStream;
use crate::runtime::{CancelToken, Clock, MaybeSend, MaybeSync, Random, Shared};

/// Observes retries.
pub trait RetryObserver: MaybeSend + MaybeSync {
    /// Called before each retry: attempt number `attempt`, from 1, starts in `delay_ms` milliseconds because of
    /// `error`.
    fn retrying(&self, error: &LlmError, attempt: u32, delay_ms: u64);
}

impl<F: Fn(&LlmError, u32, u64) + MaybeSend + MaybeSync> RetryObserver for F {
    fn retrying(&self, error: &LlmError, attempt: u32, delay_ms: u64) {
        self(error, attempt, delay_ms);
    }
}

/// The number of retries and the delays between them. The default is two retries after about one and two seconds.
#[derive(Clone)]
pub struct RetryPolicy {
    /// The attempts after the first; 0 turns retries off.
    pub max_retries: u32,
    /// The delay before the first retry, in milliseconds.
    pub base_delay_ms: u64,
    /// The longest delay, in milliseconds. A provider that asks for a longer one is not retried, because the user would
    /// wait for minutes without knowing why.
    pub max_delay_ms: u64,
    /// The factor from each delay to the next.
    pub backoff_multiplier: f64,
    /// Whether to vary delays by up to half in either direction, so that many clients do not retry at the same time.
    pub jitter: bool,
    /// Observes each retry.
    pub on_retry: Option<Shared<dyn RetryObserver>>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 2,
            base_delay_ms: 1000,
            max_delay_ms: 60_000,
            backoff_multiplier: 2.0,
            jitter: true,
            on_retry: None,
        }
    }
}

impl RetryPolicy {
    /// Returns the delay before retry number `retry`, from 0, in milliseconds.
    #[must_use]
    pub fn delay_ms(&self, retry: u32, random: &dyn Random) -> u64 {
        let factor = self.backoff_multiplier.powi(i32::try_from(retry).unwrap_or(i32::MAX));
        let delay = (self.base_delay_ms as f64 * factor).min(self.max_delay_ms as f64);
        let spread = if self.jitter { 0.5 + unit(random) } else { 1.0 };
        (delay * spread) as u64
    }

    /// Returns the delay in milliseconds after attempt `attempt`, from 0, failed with `error`. Returns `None` if the
    /// call must not be retried.
    #[must_use]
    pub fn next_delay_ms(&self, error: &LlmError, attempt: u32, random: &dyn Random) -> Option<u64> {
        if attempt >= self.max_retries || !error.retryable || error.kind == ErrorKind::Abort {
            return None;
        }
        match error.retry_after_ms {
            Some(asked) => (asked <= self.max_delay_ms).then_some(asked),
            None => Some(self.delay_ms(attempt, random)),
        }
    }
}

/// Returns a number from 0 up to but not including 1.
fn unit(random: &dyn Random) -> f64 {
    const BITS: u32 = f64::MANTISSA_DIGITS;
    (random.next_u64() >> (64 - BITS)) as f64 / (1_u64 << BITS) as f64
}

/// Calls `call` until it succeeds or the policy gives up. `call` gets the number of the attempt, from 0.
///
/// # Errors
///
/// The error of the last attempt, or [`ErrorKind::Abort`] if `cancel` fires during a delay.
pub async fn retry<T, F, C>(
    policy: &RetryPolicy,
    clock: &dyn Clock,
    random: &dyn Random,
    cancel: &CancelToken,
    mut call: C,
) -> Result<T, LlmError>
where
    F: Future<Output = Result<T, LlmError>>,
    C: FnMut(u32) -> F,
{
    let mut attempt = 0;
    loop {
        match call(attempt).await {
            Ok(value) => return Ok(value),
            Err(error) => {
                let Some(delay_ms) = policy.next_delay_ms(&error, attempt, random) else { return Err(error) };
                attempt += 1;
                if let Some(observer) = &policy.on_retry {
                    observer.retrying(&error, attempt, delay_ms);
                }
                if let Either::Right(_) = select(clock.sleep(delay_ms), cancel.cancelled()).await {
                    return Err(LlmError {
                        provider: error.provider,
                        ..LlmError::new(ErrorKind::Abort, "the request was cancelled while waiting to try again")
                    });
                }
            }
        }
    }
}

/// Opens a stream and retries until its first content has arrived. A later error is not retried, because the content
/// may be visible already.
///
/// # Errors
///
/// As [`retry`]. Errors after the first content are items of the stream.
pub async fn retry_stream<F, C>(
    policy: &RetryPolicy,
    clock: &dyn Clock,
    random: &dyn Random,
    cancel: &CancelToken,
    mut open: C,
) -> Result<EventStream, LlmError>
where
    F: Future<Output = Result<EventStream, LlmError>>,
    C: FnMut(u32) -> F,
{
    let attempt = |number| {
        let opened = open(number);
        async move { first_content(opened.await?).await }
    };
    retry(policy, clock, random, cancel, attempt).await
}

/// Reads a stream up to its first content, and returns the stream from its beginning.
async fn first_content(mut stream: EventStream) -> Result<EventStream, LlmError> {
    let mut seen = Vec::new();
    while let Some(event) = stream.next().await {
        let event = event?;
        let content = !matches!(event, StreamEvent::StreamStart { .. });
        seen.push(Ok(event));
        if content {
            break;
        }
    }
    Ok(Box::pin(futures::stream::iter(seen).chain(stream)))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::executor::block_on;

    use super::*;
    use crate::testing::{ManualClock, SeededRandom, covers};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn error(kind: ErrorKind, retry_after_ms: Option<u64>) -> LlmError {
        LlmError { retry_after_ms, ..LlmError::new(kind, "no") }
    }

    /// Fails with `error` until attempt `succeeds_at`. Returns the outcome, the number of attempts and the delays.
    fn run(policy: &RetryPolicy, error: &LlmError, succeeds_at: u32) -> (Result<u32, LlmError>, u32, Vec<u64>) {
        let clock = ManualClock::default();
        let attempts = Mutex::new(0);
        let outcome = block_on(retry(policy, &clock, &SeededRandom::new(7), &CancelToken::new(), |attempt| {
            *attempts.lock().unwrap() += 1;
            let outcome = if attempt >= succeeds_at { Ok(attempt) } else { Err(error.clone()) };
            async move { outcome }
        }));
        (outcome, attempts.into_inner().unwrap(), clock.slept())
    }

    #[test]
    fn waits_double_and_end_at_the_limit() {
        covers("retry.backoff retry.policy");
        let policy = RetryPolicy { max_retries: 8, jitter: false, ..RetryPolicy::default() };
        let (outcome, attempts, slept) = run(&policy, &error(ErrorKind::Server, None), 99);
        assert_eq!((outcome.is_err(), attempts), (true, 9));
        assert_eq!(slept, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    }

    #[test]
    fn jitter_stays_within_half_and_varies() {
        covers("retry.backoff");
        let policy = RetryPolicy::default();
        let random = SeededRandom::new(1);
        let delays: Vec<u64> = (0..1000).map(|_| policy.delay_ms(1, &random)).collect();
        assert!(delays.iter().all(|delay| (1000..3000).contains(delay)), "{delays:?}");
        let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
        assert!(*least < 1100 && *most > 2900, "{least} to {most}");
    }

    #[test]
    fn the_provider_may_ask_for_its_own_wait() {
        covers("retry.retry_after retry.rate_limit");
        let policy = RetryPolicy::default();
        let (outcome, _, slept) = run(&policy, &error(ErrorKind::RateLimit, Some(7)), 1);
        assert_eq!((outcome, slept), (Ok(1), vec![7]));
        let long = error(ErrorKind::RateLimit, Some(60_001));
        let (outcome, attempts, slept) = run(&policy, &long, 1);
        assert_eq!((outcome, attempts, slept.len()), (Err(long), 1, 0));
    }

    #[test]
    fn only_retryable_errors_are_retried() {
        covers("retry.retryable retry.disabled retry.permanent");
        let policy = RetryPolicy::default();
        for kind in [ErrorKind::RateLimit, ErrorKind::Server, ErrorKind::Network, ErrorKind::Stream] {
            assert_eq!(run(&policy, &error(kind, None), 2).0, Ok(2), "{kind:?}");
        }
        for kind in [ErrorKind::Authentication, ErrorKind::AccessDenied, ErrorKind::NotFound, ErrorKind::ContextLength]
        {
            assert_eq!(run(&policy, &error(kind, None), 1).1, 1, "{kind:?}");
        }
        let none = RetryPolicy { max_retries: 0, ..policy };
        assert_eq!(run(&none, &error(ErrorKind::Server, None), 1).1, 1);
    }

    #[test]
    fn the_observer_is_called_for_each_retry() {
        covers("retry.policy");
        let heard: Shared<Mutex<Vec<(u32, u64)>>> = Shared::default();
        let policy = RetryPolicy {
            jitter: false,
            on_retry: Some(Shared::new({
                let heard = Shared::clone(&heard);
                move |_: &LlmError, attempt: u32, delay_ms: u64| heard.lock().unwrap().push((attempt, delay_ms))
            })),
            ..RetryPolicy::default()
        };
        run(&policy, &error(ErrorKind::Server, None), 99).0.unwrap_err();
        assert_eq!(*heard.lock().unwrap(), [(1, 1000), (2, 2000)]);
    }

    #[test]
    fn cancelling_ends_the_wait() {
        let cancel = CancelToken::new();
        let clock = ManualClock::never();
        let outcome: Result<(), LlmError> =
            block_on(retry(&RetryPolicy::default(), &clock, &SeededRandom::new(1), &cancel, |_| {
                cancel.cancel();
                async { Err(error(ErrorKind::Server, None)) }
            }));
        assert_eq!(outcome.unwrap_err().kind, ErrorKind::Abort);
    }

    fn stream_of(events: Vec<Result<StreamEvent, LlmError>>) -> EventStream {
        Box::pin(futures::stream::iter(events))
    }

    #[test]
    fn a_stream_is_reopened_until_its_first_content() {
        covers("retry.after_content");
        let start = || Ok(StreamEvent::StreamStart { id: "1".into(), model: "m".into() });
        let text = || Ok(StreamEvent::TextDelta { text_id: "t".into(), delta: "a".into() });
        let overloaded = || Err(error(ErrorKind::Server, None));
        let collect = |answers: Vec<Vec<Result<StreamEvent, LlmError>>>| {
            let clock = ManualClock::default();
            let random = SeededRandom::new(1);
            let opened =
                block_on(retry_stream(&RetryPolicy::default(), &clock, &random, &CancelToken::new(), |attempt| {
                    let events = answers[attempt as usize].clone();
                    async move { Ok(stream_of(events)) }
                }));
            opened.map(|stream| block_on(stream.collect::<Vec<_>>()))
        };
        let early = collect(vec![vec![start(), overloaded()], vec![start(), text()]]);
        assert_eq!(early, Ok(vec![start(), text()]));
        let late = collect(vec![vec![start(), text(), overloaded()]]);
        assert_eq!(late, Ok(vec![start(), text(), overloaded()]));
    }
}
