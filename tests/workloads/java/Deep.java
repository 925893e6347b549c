import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A program whose stacks are like those of a service on a framework: some ninety frames, hardly two
 * of them alike. Requests go through a chain of handlers whose order each of them draws, and end in
 * work that burns the processor, allocates or formats. Argument: how many seconds.
 */
public final class Deep {
	static final int CHAIN = 24, HANDLERS = 8, THREADS = 4;
	static volatile long sink;
	static volatile boolean stop;

	/** Three frames a link: the handler, the chain's invoke, and the chain itself. */
	interface Handler {
		long handle(Chain chain, long request);
	}

	static final class Chain {
		final Handler[] handlers = new Handler[CHAIN];
		int at;

		long proceed(long request) {
			return at == CHAIN ? Deep.finish(request) : invoke(handlers[at++], request);
		}

		long invoke(Handler handler, long request) {
			return handler.handle(this, request);
		}
	}

	static final class Authenticate implements Handler {
		public long handle(Chain chain, long request) {
			return doFilter(chain, request ^ 1);
		}

		long doFilter(Chain chain, long request) {
			return chain.proceed(request);
		}
	}

	static final class Authorize implements Handler {
		public long handle(Chain chain, long request) {
			return request % 2 == 0 ? even(chain, request) : odd(chain, request);
		}

		long even(Chain chain, long request) {
			return chain.proceed(request + 1);
		}

		long odd(Chain chain, long request) {
			return chain.proceed(request - 1);
		}
	}

	static final class Decode implements Handler {
		public long handle(Chain chain, long request) {
			return parse(chain, request * 31);
		}

		long parse(Chain chain, long request) {
			return chain.proceed(request);
		}
	}

	static final class Route implements Handler {
		public long handle(Chain chain, long request) {
			switch ((int) (request & 3)) {
			case 0:
				return chain.proceed(request + 3);
			case 1:
				return chain.proceed(request + 5);
			case 2:
				return chain.proceed(request + 7);
			default:
				return chain.proceed(request + 9);
			}
		}
	}

	static final class Measure implements Handler {
		public long handle(Chain chain, long request) {
			long begin = System.nanoTime(), result = chain.proceed(request);
			return result + (System.nanoTime() - begin & 1);
		}
	}

	static final class Cache implements Handler {
		public long handle(Chain chain, long request) {
			return lookup(chain, Long.valueOf(request));
		}

		long lookup(Chain chain, Long key) {
			return chain.proceed(key);
		}
	}

	static Handler[] handlers() {
		Handler retry = (chain, request) -> chain.proceed(request ^ 0x55);
		Handler trace = new Handler() {
			public long handle(Chain chain, long request) {
				return span(chain, request);
			}

			long span(Chain chain, long request) {
				return chain.proceed(request);
			}
		};
		return new Handler[] {new Authenticate(), new Authorize(), new Decode(), new Route(),
				      new Measure(),	  new Cache(),	   retry,	 trace};
	}

	static long finish(long request) {
		switch ((int) Math.floorMod(request, 3L)) {
		case 0:
			return burn(request);
		case 1:
			return count(request);
		default:
			return format(request);
		}
	}

	static long burn(long seed) {
		long x = seed;
		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005L + 1442695040888963407L;
		return x;
	}

	static long count(long seed) {
		Map<Long, Integer> map = new HashMap<>();
		for (long i = 0; i < 300; i++)
			map.merge((seed + i * i) % 97, 1, Integer::sum);
		return map.size();
	}

	static long format(long seed) {
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < 200; i++)
			text.append(seed + i).append(", ");
		return text.toString().hashCode();
	}

	static void serve() {
		ThreadLocalRandom random = ThreadLocalRandom.current();
		Handler[] all = handlers();

		while (!stop) {
			Chain chain = new Chain();
			for (int i = 0; i < CHAIN; i++)
				chain.handlers[i] = all[random.nextInt(HANDLERS)];
			sink += chain.proceed(random.nextLong());
		}
	}

	public static void main(String[] args) throws InterruptedException {
		double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 3;
		for (int i = 0; i < THREADS; i++) {
			Thread t = new Thread(Deep::serve, "worker-" + i);
			t.setDaemon(true);
			t.start();
		}
		Thread.sleep((long) (seconds * 1000));
		stop = true;
		Thread.sleep(50);
	}
}
