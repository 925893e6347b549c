/*
 * Damage is never silent, without chance: of a small day and a small day of spans, pairs of pages
 * are swapped, and bits are flipped in whatever leads to a row: heads of pages, keys, entries
 * of indexes. Each time every answer is the right one or "damaged", the check reports what made an
 * answer fail, and the repair goes through.
 *
 * STORE_FLIPS says how many damages of a kind, evenly spread; all there are when it is large
 * enough.
 */
#include "test.h"

#include "store/folder_copy.h"
#include "store/partition.h"
#include "store/store_fixture.h"

#define PAGE	 16384
#define BEGIN	 (TEST_TIME / NS_PER_DAY * NS_PER_DAY)
#define HOUR	 (3600 * NS_PER_S)
#define MINUTE	 (60 * NS_PER_S)
#define PROFILES 480
#define LATE	 150
#define SPANS	 700
#define ANSWERS	 24
#define DAY	 "2026-01-31.db"

static const char *const services[] = {"shop", "cart", "pay"};

static int64_t test_now(void)
{
	return BEGIN + 3 * NS_PER_DAY;
}

/* Of a tenant, while a store is made smaller. */
static uint64_t size_limit;

static enum err open_at(const char *path, struct store **ret, struct fault *fault)
{
	struct store_options o = store_options_default;

	o.directory = path;
	o.now_ns = test_now;
	o.retention_ns = 0;
	o.span_retention_ns = 0;
	o.tenant_max_size = size_limit;
	return store_open(&o, ret, fault);
}

/* ------------------------------------------------------------------ the files */

/* Blocks and roll-ups of all hours, and chunks that are in none; several pages of each. */
static void fill_day(struct store *s)
{
	static struct test_profile v[PROFILES];

	for (int i = 0; i < PROFILES; i++)
		v[i] = (struct test_profile){.service = services[i % 3],
					     .n = i % 4,
					     .time_ns = BEGIN + i / 3 * 9 * MINUTE,
					     .value = 1000 + i * 17};
	CHECK_OK(fixture_write(s, v, PROFILES, NULL));
	CHECK_OK(store_settle(s, true, NULL));
	for (int i = 0; i < LATE; i++)
		v[i].time_ns += 40 * NS_PER_S;
	CHECK_OK(fixture_write(s, v, LATE, NULL));
}

/* Few rows, so that each bit can have its turn. */
static void fill_small_day(struct store *s)
{
	struct test_profile v[6];

	for (int i = 0; i < 6; i++)
		v[i] = (struct test_profile){.service = services[i % 2],
					     .n = i % 2,
					     .time_ns = BEGIN + (7 + i / 4) * HOUR,
					     .value = 1000 + i * 17};
	CHECK_OK(fixture_write(s, v, 6, NULL));
	CHECK_OK(store_settle(s, true, NULL));
	v[2].time_ns += 40 * NS_PER_S;
	CHECK_OK(fixture_write(s, v + 2, 1, NULL));
}

static struct trace_span span_of(int i, char *operation, size_t size)
{
	struct trace_span span = {.service = str_of(services[i % 3]),
				  .start_ns = BEGIN + i * MINUTE,
				  .duration_ns = 1000 + i};

	/* Long names, so that these are on several pages, too. */
	snprintf(operation, size, "%0600d", i % 50);
	span.operation = str_of(operation);
	memset(span.trace_id, i % 251, sizeof(span.trace_id));
	span.trace_id[0] = (uint8_t)(i / 251);
	memset(span.span_id, 1, sizeof(span.span_id));
	return span;
}

static void write_spans(struct store *s, int every)
{
	static char note[250];
	struct label_pair attribute = {STR("note"), {note, sizeof(note)}};
	struct store_batch *b;
	char operation[700];

	memset(note, 'x', sizeof(note));
	CHECK_OK(store_batch_new(s, TEST_TENANT, &b, NULL));
	for (int i = 0; i < SPANS; i += every) {
		struct trace_span span = span_of(i, operation, sizeof(operation));

		span.attributes = &attribute;
		span.attribute_count = 1;
		CHECK_OK(store_batch_span(b, &span, NULL));
	}
	CHECK_OK(commit_and_wait(b, NULL));
}

static void fill_spans(struct store *s)
{
	write_spans(s, 1);
}

static void fill_few_spans(struct store *s)
{
	write_spans(s, SPANS / 5);
}

/* Deletes the oldest spans, so that the ledger no longer has the sums of index entries. */
static void cut(const char *path, uint64_t size)
{
	struct store *s;

	size_limit = size;
	CHECK_OK(open_at(path, &s, NULL));
	CHECK_OK(store_settle(s, true, NULL));
	CHECK_OK(store_settle(s, true, NULL));
	store_close(s);
	size_limit = 0;
}

/* ------------------------------------------------------------------ what they answer */

struct answers {
	int n;
	int64_t v[ANSWERS];
	enum err error[ANSWERS];
};

static int64_t mix(int64_t sum, int64_t v)
{
	return (int64_t)hash_mix((uint64_t)sum, (uint64_t)v);
}

static void note(struct answers *a, enum err error, int64_t v)
{
	CHECK(a->n < ANSWERS);
	a->error[a->n] = error;
	a->v[a->n++] = v;
}

static void ask_series(struct store *s, const char *service, int64_t from, int64_t until,
		       struct answers *a)
{
	static const struct str by = {"n", 1};
	struct matcher m = {STR("service_name"), MATCH_EQUAL, str_of(service), NULL};
	struct selection sel = fixture_all();
	struct series_question question = {.group_by = &by, .group_count = 1, .step_ns = MINUTE};
	struct series_answer answer = {0};
	struct ask ask = {0};
	int64_t sum = 1;
	enum err error;

	sel.matchers = &m;
	sel.matcher_count = 1;
	sel.from_ns = BEGIN + from;
	sel.until_ns = BEGIN + until;
	error = store_series(s, TEST_TENANT, &sel, &question, &ask, &answer);
	for (size_t i = 0; error == ERR_OK && i < answer.n; i++)
		for (size_t k = 0; k < answer.series[i].n; k++)
			if (answer.series[i].points[k].value == answer.series[i].points[k].value)
				sum = mix(mix(sum, answer.series[i].points[k].time_ns),
					  (int64_t)answer.series[i].points[k].value);
	arena_release(&answer.arena);
	note(a, error, sum);
}

/* A service first, so that what is damaged of others is not what fails it. */
static void ask_day(struct store *s, struct answers *a)
{
	a->n = 0;
	for (int i = 2; i >= 0; i--) {
		ask_series(s, services[i], 7 * HOUR, 8 * HOUR + 20 * MINUTE, a);
		ask_series(s, services[i], 23 * HOUR, 24 * HOUR, a);
		ask_series(s, services[i], 0, 24 * HOUR, a);
	}
}

/* What compaction and roll-ups make of damaged rows must not look right either. */
static void settle_and_ask(struct store *s, struct answers *a)
{
	enum err error = store_settle(s, true, NULL);

	CHECK(error == ERR_OK || error == ERR_DAMAGED);
	ask_day(s, a);
}

static void ask_one(struct store *s, const struct span_question *q, struct answers *a)
{
	struct span_answer spans = {0};
	struct ask ask = {0};
	int64_t sum = 1;
	enum err error = store_spans(s, TEST_TENANT, q, &ask, &spans);

	for (size_t i = 0; error == ERR_OK && i < spans.n; i++)
		sum = mix(mix(sum, spans.v[i].start_ns),
			  (int64_t)hash_str(spans.v[i].operation, 1));
	if (error == ERR_OK)
		arena_release(&spans.arena);
	note(a, error, sum);
}

static void ask_spans(struct store *s, struct answers *a)
{
	struct span_question q = {.from_ns = BEGIN, .until_ns = BEGIN + NS_PER_DAY, .limit = SPANS};
	char operation[700];

	a->n = 0;
	for (int i = 0; i < SPANS; i += SPANS / 5) {
		struct trace_span span = span_of(i, operation, sizeof(operation));

		q.trace_id = span.trace_id;
		ask_one(s, &q, a);
	}
	q.trace_id = NULL;
	for (int i = 0; i < 3; i++) {
		q.service = str_of(services[i]);
		ask_one(s, &q, a);
	}
	q.operation = str_of(operation);
	q.service = (struct str){0};
	ask_one(s, &q, a);
	q.operation = (struct str){0};
	for (int h = 0; h < 12; h += 3) {
		q.from_ns = BEGIN + h * HOUR;
		q.until_ns = q.from_ns + HOUR;
		ask_one(s, &q, a);
	}
}

/* ------------------------------------------------------------------ places */

struct places {
	VEC(size_t) v;
};

static size_t number_at(const uint8_t *p)
{
	return (size_t)p[0] << 8 | p[1];
}

static void add(struct places *all, size_t from, size_t n, size_t end)
{
	for (size_t at = from; at < from + n && at < end; at++)
		CHECK_OK(vec_push(&all->v, at));
}

/* What leads to rows in a page of a tree; nothing of a page of another kind. */
static void places_of_page(const uint8_t *file, size_t page, struct places *ret)
{
	size_t begin = page * PAGE, head = begin + (page ? 0 : 100), end = begin + PAGE;
	uint8_t type = file[head];
	size_t cells = number_at(file + head + 3), pointers = head + (type < 8 ? 12 : 8);
	/* Of a cell: child and key; entries of an index; size, key and first columns of a row. */
	size_t some = type == 5 ? 12 : type == 2 || type == 10 ? 40 : 20;

	if ((type != 2 && type != 5 && type != 10 && type != 13) || pointers + 2 * cells > end)
		return;
	add(ret, head, pointers - head + 2 * cells, end);
	for (size_t i = 0; i < cells; i++)
		add(ret, begin + number_at(file + pointers + 2 * i), some, end);
}

/* Header, pointers and cells of a page of a tree, all of another page. */
static void used_of_page(const uint8_t *file, size_t page, struct places *ret)
{
	size_t begin = page * PAGE, head = begin + (page ? 0 : 100), end = begin + PAGE;
	uint8_t type = file[head];
	size_t cells = number_at(file + head + 3), content = number_at(file + head + 5);

	if (type != 2 && type != 5 && type != 10 && type != 13) {
		add(ret, begin, PAGE, end);
		return;
	}
	add(ret, begin, head - begin + (type < 8 ? 12 : 8) + 2 * cells, end);
	add(ret, begin + content, PAGE - content, end);
}

/* ------------------------------------------------------------------ the test */

struct bench {
	struct scratch dir;
	char base[300], copy[300], file[400];
	void (*ask)(struct store *s, struct answers *a);
	struct answers right;
	struct buf bytes; /* the file as it is */
	long damages, bad, found;
};

static void count_problem(void *context, const char *problem)
{
	(void)problem;
	++*(int *)context;
}

static void ignore_lost(void *context, const struct store_lost *lost)
{
	(void)context, (void)lost;
}

static int problems_of(const char *folder)
{
	struct store_checked result;
	int problems = 0;

	return store_check(folder, count_problem, &problems, &result, NULL) == ERR_OK ? problems
										      : -1;
}

/* Whether some answer failed, as it may; a wrong one is told. */
static bool look(struct bench *b, const char *what, bool *ret_good)
{
	struct fault fault = {0};
	struct answers a = {0};
	struct store *s;
	bool any = false;

	if (open_at(b->copy, &s, &fault) != ERR_OK) {
		printf("# %s: does not open: %s\n", what, fault.text);
		*ret_good = false;
		return true;
	}
	b->ask(s, &a);
	store_close(s);
	for (int i = 0; i < a.n; i++) {
		any |= a.error[i] != ERR_OK;
		if (a.error[i] == ERR_DAMAGED || (a.error[i] == ERR_OK && a.v[i] == b->right.v[i]))
			continue;
		printf("# %s: answer %d: %s\n", what, i,
		       a.error[i] ? err_text(a.error[i]) : "wrong, and nobody says so");
		*ret_good = false;
	}
	return any;
}

static bool repairs(struct bench *b, const char *what)
{
	struct store_repaired result = {0};
	struct fault fault = {0};
	enum err error = store_repair(b->copy, ignore_lost, NULL, &result, &fault);

	/* A version that this one does not know: the file may be sound. */
	if (error == ERR_UNSUPPORTED)
		return true;
	if (error != ERR_OK)
		printf("# %s: cannot be repaired: %s\n", what, fault.text);
	else if (problems_of(b->copy) != 0)
		printf("# %s: not whole after the repair\n", what);
	return error == ERR_OK && problems_of(b->copy) == 0;
}

/* Some bytes that stand elsewhere in the file now. */
struct damage {
	const char *what;
	size_t at, n;
	const void *bytes;
	size_t other_at; /* when `other` is something */
	const void *other;
};

static void make_copy(struct bench *b, const struct damage *d)
{
	int fd;

	remove_folder(b->copy);
	copy_folder(b->base, b->copy);
	fd = open(b->file, O_RDWR);
	CHECK(fd >= 0 && pwrite(fd, d->bytes, d->n, (off_t)d->at) == (ssize_t)d->n);
	CHECK(!d->other || pwrite(fd, d->other, d->n, (off_t)d->other_at) == (ssize_t)d->n);
	close(fd);
}

static void try_damage(struct bench *b, const struct damage *d)
{
	bool good = true, any;

	make_copy(b, d);
	any = look(b, d->what, &good);
	/* Once more: what the server wrote meanwhile must not make it look right. */
	if (any && good)
		(void)look(b, d->what, &good);
	if (any || b->damages % 16 == 0) {
		int problems;

		/* A server writes what it can, too: the check sees the file as it was found. */
		make_copy(b, d);
		problems = problems_of(b->copy);
		if (problems < 0 || (any && !problems)) {
			printf("# %s: the check does not report it\n", d->what);
			good = false;
		}
		if (good && problems > 0 && b->damages % 4 == 0)
			good = repairs(b, d->what);
	}
	b->damages++;
	b->found += any;
	b->bad += !good;
}

/* How many to skip so that about as many damages remain as are wanted; not the same bit each time.
 */
static size_t step_for(size_t n)
{
	const char *most = getenv("STORE_FLIPS");
	size_t limit = most ? (size_t)atol(most) : 40;

	return (n > limit ? n / limit : 1) | 1;
}

static void swap_all(struct bench *b)
{
	size_t pages = b->bytes.n / PAGE, every = step_for(pages * (pages - 1) / 2), n = 0;
	char what[100];

	for (size_t x = 0; x < pages; x++)
		for (size_t y = x + 1; y < pages; y++) {
			struct damage d = {what,     x * PAGE,
					   PAGE,     b->bytes.data + y * PAGE,
					   y * PAGE, b->bytes.data + x * PAGE};

			snprintf(what, sizeof(what), "pages %zu and %zu swapped", x, y);
			if (n++ % every == 0)
				try_damage(b, &d);
		}
}

static void flip(struct bench *b,
		 void (*places_of)(const uint8_t *file, size_t page, struct places *ret))
{
	size_t bits, every;
	struct places places = {0};
	char what[100];

	for (size_t page = 0; page < b->bytes.n / PAGE; page++)
		places_of((const uint8_t *)b->bytes.data, page, &places);
	bits = places.v.n * 8;
	every = step_for(bits);
	for (size_t i = 0; i < bits; i += every) {
		size_t at = places.v.v[i / 8];
		uint8_t byte = (uint8_t)((uint8_t)b->bytes.data[at] ^ 1u << i % 8);
		struct damage d = {what, at, 1, &byte, 0, NULL};

		snprintf(what, sizeof(what), "bit %zu of byte %zu of page %zu", i % 8, at % PAGE,
			 at / PAGE);
		try_damage(b, &d);
	}
	printf("# each %zuth of %zu bits\n", every, bits);
	vec_release(&places.v);
}

static void flip_all(struct bench *b)
{
	flip(b, places_of_page);
}

static void flip_used(struct bench *b)
{
	flip(b, used_of_page);
}

/* `size`: what is left of the tenant's files, 0 = all. */
static void sweep_cut(const char *name, void (*fill)(struct store *s),
		      void (*ask)(struct store *s, struct answers *a),
		      void (*damage)(struct bench *b), uint64_t size)
{
	struct bench b = {.ask = ask, .bytes = BUF_INIT(64 << 20)};
	struct store *s;
	char path[600];

	scratch_make_fast(&b.dir);
	snprintf(b.base, sizeof(b.base), "%s/base", b.dir.path);
	snprintf(b.copy, sizeof(b.copy), "%s/copy", b.dir.path);
	snprintf(b.file, sizeof(b.file), "%s/anonymous/%s", b.copy, name);
	snprintf(path, sizeof(path), "%s/anonymous/%s", b.base, name);
	CHECK_OK(open_at(b.base, &s, NULL));
	fill(s);
	store_close(s);
	if (size)
		cut(b.base, size);
	copy_folder(b.base, b.copy);
	CHECK_OK(open_at(b.copy, &s, NULL));
	ask(s, &b.right);
	for (int i = 0; i < b.right.n; i++)
		CHECK_OK(b.right.error[i]);
	store_close(s);
	CHECK_INT(problems_of(b.base), 0);
	CHECK_OK(file_read(path, &b.bytes, NULL));
	CHECK(b.bytes.n > 0 && b.bytes.n % PAGE == 0);
	CHECK(!size || b.bytes.n < size);
	damage(&b);
	printf("# %zu pages, %ld damages, %ld answered with an error, %ld silent or wrong\n",
	       b.bytes.n / PAGE, b.damages, b.found, b.bad);
	CHECK_INT(b.bad, 0);
	CHECK(b.found > 0);
	buf_release(&b.bytes);
	scratch_remove(&b.dir);
}

static void sweep(const char *name, void (*fill)(struct store *s),
		  void (*ask)(struct store *s, struct answers *a), void (*damage)(struct bench *b))
{
	sweep_cut(name, fill, ask, damage, 0);
}

TEST(swapped_pages_of_a_day_are_never_silent)
{
	sweep(DAY, fill_day, ask_day, swap_all);
}

TEST(swapped_pages_of_a_day_are_not_silent_after_compaction)
{
	sweep(DAY, fill_day, settle_and_ask, swap_all);
}

TEST(flipped_bits_of_a_day_are_not_silent_after_compaction)
{
	sweep(DAY, fill_day, settle_and_ask, flip_all);
}

TEST(swapped_pages_of_spans_are_never_silent)
{
	sweep("2026-01-31.spans.db", fill_spans, ask_spans, swap_all);
}

TEST(flipped_bits_of_a_day_are_never_silent)
{
	sweep(DAY, fill_day, ask_day, flip_all);
}

TEST(flipped_bits_of_spans_are_never_silent)
{
	sweep("2026-01-31.spans.db", fill_spans, ask_spans, flip_all);
}

TEST(flipped_bits_of_spans_are_never_silent_after_some_were_deleted)
{
	sweep_cut("2026-01-31.spans.db", fill_spans, ask_spans, flip_all, 400 << 10);
}

TEST(any_bit_of_a_small_day)
{
	sweep(DAY, fill_small_day, ask_day, flip_used);
}

TEST(any_bit_of_few_spans)
{
	sweep("2026-01-31.spans.db", fill_few_spans, ask_spans, flip_used);
}
