import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * A program with known threads for the recordings of the tests: two that burn the processor on
 * stacks of known names, one that allocates and keeps some of it, two that fight over a monitor,
 * one that parks, one that throws. Argument: how many seconds.
 */
public final class Work {
	static final Object LOCK = new Object();
	static final List<byte[]> KEPT = new ArrayList<>();
	static volatile long sink;
	static volatile boolean stop;

	static long burnInner(long seed) {
		long x = seed;
		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005L + 1442695040888963407L;
		return x;
	}

	static void burnOuter(int depth) {
		if (depth > 0)
			burnOuter(depth - 1);
		else
			sink += burnInner(sink);
	}

	static void burn() {
		while (!stop)
			burnOuter(5);
	}

	static void hash() {
		Map<String, Integer> map = new HashMap<>();
		while (!stop) {
			for (int i = 0; i < 500; i++)
				map.merge("key" + i, 1, Integer::sum);
			sink += map.size();
		}
	}

	static void allocate() {
		while (!stop) {
			byte[] some = new byte[2000];
			String[] names = new String[100];
			byte[] large = new byte[3 << 20];
			if (KEPT.size() < 2000)
				KEPT.add(some);
			sink += some.length + names.length + large.length;
			LockSupport.parkNanos(200_000);
		}
	}

	static void contend() {
		while (!stop) {
			synchronized (LOCK) {
				pause(25);
			}
			pause(1);
		}
	}

	static void pause(long milliseconds) {
		try {
			Thread.sleep(milliseconds);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	static void park() {
		while (!stop)
			LockSupport.parkNanos(LOCK, 30_000_000);
	}

	static void fail() {
		while (!stop) {
			try {
				throw new IllegalStateException("expected");
			} catch (IllegalStateException e) {
				sink++;
			}
			pause(5);
		}
	}

	static void start(String name, Runnable body) {
		Thread t = new Thread(body, name);
		t.setDaemon(true);
		t.start();
	}

	public static void main(String[] args) {
		double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 3;
		start("burner", Work::burn);
		start("hasher é", Work::hash);
		start("allocator", Work::allocate);
		start("contender-1", Work::contend);
		start("contender-2", Work::contend);
		start("parker", Work::park);
		start("thrower", Work::fail);
		pause((long) (seconds * 1000));
		stop = true;
		pause(50);
	}
}
