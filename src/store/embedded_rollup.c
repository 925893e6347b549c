/* Roll-ups: an hour from its blocks, a day from its hours. */
#include "store/reach.h"
#include "store/upkeep.h"

#define BLOCK_MEMORY (256u << 20)

/* Existing roll-ups of a service: a bit per hour. */
struct inventory {
	uint32_t blocks, hours;
	bool day;
};

static enum err take_inventory(struct day_service *ds, struct db *reader, struct inventory *ret,
			       struct fault *fault)
{
	int64_t id = atomic_load(&ds->id), day_ns = ds->day->name.day * NS_PER_DAY;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	*ret = (struct inventory){0};
	TRY(db_query_with(reader, BLOCK_KEYS, &q, fault, id, id));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		/* In a file that is damaged, any number. */
		int64_t time = row_time_ns(sqlite3_column_int64(q, 0));

		if (time >= day_ns && time < day_ns + NS_PER_DAY)
			ret->blocks |= 1u << (time - day_ns) / NS_PER_HOUR;
	}
	db_reset(q);
	TRY(error);
	TRY(db_query_with(reader, ROLLUP_KEYS, &q, fault, id));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		/* Milliseconds; the same. */
		int64_t start = sqlite3_column_int64(q, 1), first = day_ns / 1000000;

		if (sqlite3_column_int64(q, 0) == ROLLUP_DAY)
			ret->day = true;
		else if (start >= first && start < first + NS_PER_DAY / 1000000)
			ret->hours |= 1u << (start - first) / (NS_PER_HOUR / 1000000);
	}
	db_reset(q);
	return error;
}

/* Data of the partition for rollup_add. */
struct shape {
	bool *gauge;
	uint32_t type_count, stack_count;
};

static enum err shape_of(struct day_service *ds, struct shape *ret, struct fault *fault)
{
	struct partition *p;

	TRY(service_partition(ds, &p, fault));
	mutex_lock(&p->lock);
	ret->type_count = (uint32_t)p->types.n;
	ret->stack_count = (uint32_t)p->dict.stacks.entries.n;
	ret->gauge = mem_zalloc(p->types.n + 1, sizeof(*ret->gauge));
	for (uint32_t i = 0; ret->gauge && i < ret->type_count; i++)
		ret->gauge[i] = p->types.v[i].gauge;
	mutex_unlock(&p->lock);
	partition_give_back(ds->day->engine, p);
	return ret->gauge ? ERR_OK : ERR_NO_MEMORY;
}

/* A roll-up of incompletely found blocks would be wrong, and never be corrected. */
static enum err prepare(struct day_service *ds, struct db *reader, struct shape *ret,
			struct fault *fault)
{
	TRY(service_verify(ds, fault));
	TRY(service_find_blocks(ds, reader, fault));
	return shape_of(ds, ret, fault);
}

static enum err add_all(struct rollup *r, struct str bytes, const struct shape *shape)
{
	struct block b = {0};
	enum err error = block_open(bytes, BLOCK_MEMORY, &b);

	for (size_t i = 0; error == ERR_OK && i < b.n; i++)
		error = rollup_add(r, &b.chunks[i], shape->gauge, shape->type_count,
				   shape->stack_count);
	block_release(&b);
	return error;
}

/* Sums up the blocks that a statement returns. */
static enum err sum_blocks(struct day_service *ds, struct db *reader, sqlite3_stmt *q,
			   struct rollup *r, const struct shape *shape, struct fault *fault)
{
	bool row;
	enum err error;

	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		error = block_row_good(ds->day, reader, q) ? add_all(r, db_column(q, 6), shape)
							   : ERR_DAMAGED;
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

/* Adds the roll-up of an hour. */
static enum err sum_hour(struct day_service *ds, struct db *reader, int64_t start, struct rollup *r,
			 const struct shape *shape, struct fault *fault)
{
	int64_t id = atomic_load(&ds->id);
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(reader, ROLLUP_GET, &q, fault, id, ROLLUP_HOUR, start));
	error = db_step(reader, q, &row, fault);
	if (error == ERR_OK && row) {
		struct str bytes = db_column(q, 0);
		uint64_t seal =
			seal_rollup(atomic_load(&ds->day->key), id, ROLLUP_HOUR, start, bytes);

		error = day_seal_good(ds->day, reader, sqlite3_column_int64(q, 1), seal)
				? add_all(r, bytes, shape)
				: ERR_DAMAGED;
	}
	db_reset(q);
	return error;
}

static enum err put_rollup(struct day_service *ds, int level, int64_t start_ns, struct str bytes,
			   struct fault *fault)
{
	int64_t id = atomic_load(&ds->id), start = start_ns / 1000000;
	uint64_t seal = seal_rollup(atomic_load(&ds->day->key), id, level, start, bytes);
	struct change c;
	sqlite3_stmt *q;
	enum err error = change_begin(&c, ds->day, fault);

	if (error != ERR_OK)
		return error;
	error = change_take_with(&c, ds, TALLY_ROLLUPS, ROLLUP_DELETE, fault, id, level, start);
	if (error == ERR_OK)
		error = change_added_of(&c, ds, TALLY_ROLLUPS, seal);
	if (error == ERR_OK)
		error = db_query_with(c.writer, ROLLUP_PUT, &q, fault, id, level, start,
				      (int64_t)seal);
	if (error == ERR_OK) {
		db_bind(q, 5, bytes);
		error = db_run(c.writer, q, fault);
	}
	return change_end(&c, error, fault);
}

static enum err finish(struct day_service *ds, int level, int64_t start_ns, struct rollup *r,
		       struct fault *fault)
{
	struct buf bytes = BUF_INIT(SIZE_MAX);
	enum err error = rollup_finish(r, &bytes);

	if (error == ERR_OK)
		error = put_rollup(ds, level, start_ns, buf_view(&bytes), fault);
	buf_release(&bytes);
	return error;
}

static enum err roll_hour(struct day_service *ds, struct db *reader, int64_t start_ns,
			  const struct shape *shape, struct fault *fault)
{
	struct rollup *r = NULL;
	sqlite3_stmt *q;
	enum err error = rollup_new(start_ns, NS_PER_HOUR, &r);

	if (error == ERR_OK)
		error = db_query_with(reader, BLOCK_RANGE, &q, fault, atomic_load(&ds->id),
				      row_key(start_ns, 0), row_key(start_ns + NS_PER_HOUR, 0));
	if (error == ERR_OK)
		error = sum_blocks(ds, reader, q, r, shape, fault);
	if (error == ERR_OK)
		error = finish(ds, ROLLUP_HOUR, start_ns, r, fault);
	rollup_free(r);
	return error;
}

static enum err roll_whole_day(struct day_service *ds, struct db *reader, uint32_t hours,
			       const struct shape *shape, struct fault *fault)
{
	int64_t day_ns = ds->day->name.day * NS_PER_DAY;
	struct rollup *r = NULL;
	enum err error = rollup_new(day_ns, NS_PER_DAY, &r);

	for (int h = 0; error == ERR_OK && h < 24; h++)
		if (hours >> h & 1)
			error = sum_hour(ds, reader, (day_ns + h * NS_PER_HOUR) / 1000000, r, shape,
					 fault);
	if (error == ERR_OK)
		error = finish(ds, ROLLUP_DAY, day_ns, r, fault);
	rollup_free(r);
	return error;
}

static enum err roll_service(struct day_service *ds, int64_t until_ns, struct fault *fault)
{
	int64_t day_ns = ds->day->name.day * NS_PER_DAY;
	struct inventory have;
	struct shape shape = {0};
	struct db *reader = NULL;
	uint32_t missing;
	enum err error;

	TRY(day_reader(ds->day, &reader, fault));
	error = take_inventory(ds, reader, &have, fault);
	missing = have.blocks & ~have.hours;
	for (int h = 0; h < 24; h++) {
		int64_t begin = day_ns + h * NS_PER_HOUR, end = begin + NS_PER_HOUR;

		/* The part beyond an hour must be in the next one. */
		if (end > until_ns || reach_longest(ds, begin, end) > ROLLUP_REACH_NS)
			missing &= ~(1u << h);
	}
	if (error == ERR_OK && (missing || (!have.day && have.blocks)))
		error = prepare(ds, reader, &shape, fault);
	for (int h = 0; error == ERR_OK && h < 24; h++)
		if (missing >> h & 1)
			error = roll_hour(ds, reader, day_ns + h * NS_PER_HOUR, &shape, fault);
	have.hours |= missing;
	if (error == ERR_OK && !have.day && have.blocks && have.blocks == have.hours &&
	    day_ns + NS_PER_DAY <= until_ns)
		error = roll_whole_day(ds, reader, have.hours, &shape, fault);
	mem_free(shape.gauge);
	day_reader_back(ds->day, reader, error);
	/* A block that cannot be read leaves its hour without a roll-up. */
	return is_damage(error) ? ERR_OK : error;
}

enum err rollup_day(struct day *d, bool all, struct fault *fault)
{
	int64_t until = all ? INT64_MAX : upkeep_now(d->engine) - 2 * WINDOW_LATE_NS;
	enum err error = ERR_OK;

	for (size_t i = 0; error == ERR_OK; i++) {
		struct day_service *ds = day_service_at(d, i);

		if (!ds)
			break;
		if (atomic_load(&ds->id))
			error = roll_service(ds, until, fault);
	}
	return error;
}
