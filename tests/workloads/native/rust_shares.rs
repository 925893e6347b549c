// Two functions with known shares of the time, through traits and closures:
//	rust_shares SECONDS
use std::hint::black_box;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

// Processor time of this thread: CLOCK_THREAD_CPUTIME_ID.
fn cpu() -> i64 {
    let mut t = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(3, &mut t) };
    t.seconds * 1_000_000_000 + t.nanoseconds
}

#[inline(never)]
fn churn(mut x: u64, rounds: u32) -> u64 {
    for _ in 0..rounds {
        x = black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    }
    x
}

trait Work {
    fn run(&self, x: u64) -> u64;
}

struct Most;
struct Some;

impl Work for Most {
    #[inline(never)]
    fn run(&self, x: u64) -> u64 {
        black_box(churn(x, 14000)) + 1
    }
}

impl Work for Some {
    #[inline(never)]
    fn run(&self, x: u64) -> u64 {
        black_box(churn(x, 6000)) + 1
    }
}

#[inline(never)]
fn descend(depth: u32, spent: &mut [i64; 2], x: u64) -> u64 {
    let room = black_box([depth as u8; 48]);
    if depth > 0 {
        return descend(depth - 1, spent, x) + u64::from(room[7]);
    }
    let work: [Box<dyn Work>; 2] = [Box::new(Most), Box::new(Some)];
    let mut sum = x;
    for (i, w) in work.iter().enumerate() {
        let start = cpu();
        sum = sum.wrapping_add(black_box(w).run(sum));
        spent[i] += cpu() - start;
    }
    sum
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    std::thread::spawn(move || {
        let (mut spent, mut x) = ([0; 2], 1);
        let end = cpu() + (seconds * 1e9) as i64;
        while cpu() < end {
            x = descend(20, &mut spent, x);
        }
        println!("{{\"Most\": {}, \"Some\": {}}}", spent[0], spent[1]);
    })
    .join()
    .unwrap();
}
