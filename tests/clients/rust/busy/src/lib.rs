//! Two functions with a known share of the CPU time. The calling program starts its profiler, lets
//! `work` run and stops it; `work` prints what it measured for the test.
use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

pub fn server() -> String {
    env::var("CLIENT_SERVER").expect("CLIENT_SERVER")
}

pub fn service() -> String {
    env::var("CLIENT_SERVICE").expect("CLIENT_SERVICE")
}

#[inline(never)]
fn burn(rounds: u64) -> u64 {
    let mut x = rounds | 1;
    for _ in 0..rounds {
        x ^= black_box(x << 13);
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn busy_heavy(rounds: u64) -> u64 {
    black_box(burn(black_box(rounds))) + 1
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn busy_light(rounds: u64) -> u64 {
    black_box(burn(black_box(rounds))) + 2
}

fn thread_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Slices of any length from none, so that they cannot keep step with the profiler's clock.
pub fn work() {
    let seconds = env::var("CLIENT_SECONDS").expect("CLIENT_SECONDS").parse().expect("a number");
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let (mut heavy, mut light) = (0, 0);
    while Instant::now() < end {
        let begin = thread_ns();
        black_box(busy_heavy(1 + random() % 9_000_000));
        let middle = thread_ns();
        black_box(busy_light(1 + random() % 3_000_000));
        heavy += middle - begin;
        light += thread_ns() - middle;
    }
    println!("{{\"heavy\": {heavy}, \"light\": {light}}}");
}
