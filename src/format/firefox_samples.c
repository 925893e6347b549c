/*
 * Firefox Profiler: samples of a thread, as rows.
 *
 * A sample counts 1 (or its weight), and stands for the sampling interval in wall time; CPU time
 * is there when the file says how much each sample used. Samples of a thread carry its name and
 * ids as labels, and their time when the file has a date. Samples without a stack are left out.
 */
#include <math.h>

#include "format/firefox.h"

enum weight_type { WEIGHT_SAMPLES, WEIGHT_MS, WEIGHT_BYTES };
enum { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_DELTA, SAMPLE_WEIGHT, SAMPLE_CPU };

/* Whole milliseconds apart, so that dates keep their nanoseconds; 0 for what is no sane time. */
static int64_t nanoseconds(double ms)
{
	double whole = floor(ms);

	if (!(ms > -9e12 && ms < 9e12))
		return 0;
	return (int64_t)whole * 1000000 + llround((ms - whole) * 1e6);
}

/* The profile that a thread's samples go to, by what their weights mean. */
static enum err choose_profile(struct fox *f, enum weight_type weights, struct profile **ret)
{
	struct profile **slot = weights == WEIGHT_BYTES ? &f->bytes : &f->time;
	struct profile *p;

	if (!*slot) {
		TRY(profile_list_add(f->out->list, f->out->dict, &p));
		TRY(profile_add_type(p, STR("samples"), STR("count")));
		if (weights == WEIGHT_BYTES)
			TRY(profile_add_type(p, STR("space"), STR("bytes")));
		else
			TRY(profile_add_type(p, STR("wall"), STR("nanoseconds")));
		if (weights != WEIGHT_BYTES && f->cpu != FOX_CPU_NONE)
			TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
		p->time_ns = f->start > 0 ? nanoseconds(f->start) : 0;
		if (weights != WEIGHT_BYTES && f->interval > 0 && f->interval < 1e9) {
			p->period_type = p->types[1];
			p->period = llround(f->interval * 1e6);
		}
		*slot = p;
	}
	*ret = *slot;
	return ERR_OK;
}

static enum err push_label(struct fox *f, const char *key, struct str value, uint32_t *labels,
			   uint32_t *n)
{
	struct label label = {.type = LABEL_STRING};
	uint32_t text;

	if (!value.n)
		return ERR_OK;
	TRY(dict_text(f->out->dict, key, &label.key));
	if (str_to_i64(value, &label.value) == ERR_OK) {
		label.type = LABEL_INT;
	} else {
		TRY(dict_string(f->out->dict, value, &text));
		label.value = text;
	}
	return dict_label(f->out->dict, &label, &labels[(*n)++]);
}

static enum err thread_labels(struct fox *f, const struct fox_thread *t, uint32_t *ret)
{
	static const char *const keys[] = {"thread.name", "process.executable.name"};
	const uint32_t names[] = {t->name, t->process};
	uint32_t labels[4], n = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct label label = {.type = LABEL_STRING, .value = names[i]};

		if (!names[i])
			continue;
		TRY(dict_text(f->out->dict, keys[i], &label.key));
		TRY(dict_label(f->out->dict, &label, &labels[n++]));
	}
	TRY(push_label(f, "thread.id", t->tid, labels, &n));
	TRY(push_label(f, "process.pid", t->pid, labels, &n));
	return dict_label_set(f->out->dict, labels, n, ret);
}

static int64_t rounded(double value)
{
	return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : llround(value);
}

static void sample_values(const struct fox *f, const struct fox_table *samples, size_t row,
			  enum weight_type weights, int64_t *values)
{
	double weight = fox_cell(samples, SAMPLE_WEIGHT, row);
	double cpu = fox_cell(samples, SAMPLE_CPU, row);

	if (isnan(weight))
		weight = weights == WEIGHT_SAMPLES ? 1 : 0;
	values[0] = weights == WEIGHT_SAMPLES ? rounded(weight) : 1;
	values[1] = weights == WEIGHT_SAMPLES ? rounded(weight * f->interval * 1e6)
		    : weights == WEIGHT_MS    ? rounded(weight * 1e6)
					      : rounded(weight);
	values[2] = isnan(cpu) ? 0 : rounded(f->cpu == FOX_CPU_US ? cpu * 1000 : cpu);
}

static enum err add_samples(struct fox *f, struct fox_tables *tables,
			    const struct fox_table *samples, enum weight_type weights,
			    struct row row)
{
	struct profile *p;
	int64_t values[3];
	double time = 0, last = 0;

	TRY(choose_profile(f, weights, &p));
	for (size_t i = 0; i < samples->rows; i++) {
		double delta = fox_cell(samples, SAMPLE_DELTA, i);
		uint32_t stack =
			fox_index(&f->j, samples, SAMPLE_STACK, i, tables->interned.n, "stacks");

		TRY(f->j.error);
		time = isnan(delta) ? fox_cell(samples, SAMPLE_TIME, i) : time + delta;
		row.time = 0;
		if (p->time_ns && time > -1e12 && time < 1e12)
			row.time = (uint64_t)p->time_ns + (uint64_t)nanoseconds(time);
		if (time > last && time < 1e12)
			last = time;
		if (stack == UINT32_MAX)
			continue;
		if (p->row_count >= f->out->limits.max_samples)
			return json_fail(&f->j, ERR_TOO_LARGE, "more than %llu samples",
					 (unsigned long long)f->out->limits.max_samples);
		TRY(fox_stack(tables, stack, f->out, &row.stack));
		sample_values(f, samples, i, weights, values);
		TRY(profile_add(p, &row, values));
	}
	if (nanoseconds(last) > p->duration_ns)
		p->duration_ns = nanoseconds(last);
	return ERR_OK;
}

static enum weight_type take_weight_type(struct json *j, const struct json_mark *samples)
{
	enum weight_type type = WEIGHT_SAMPLES;
	struct str key, text = {NULL, 0};

	json_seek(j, samples);
	if (json_object(j))
		while (json_key(j, &key)) {
			if (!str_eq(key, STR("weightType")))
				json_skip(j);
			else if (json_string(j, &text) && text.n)
				type = str_eq(text, STR("bytes"))	 ? WEIGHT_BYTES
				       : str_eq(text, STR("tracing-ms")) ? WEIGHT_MS
									 : WEIGHT_SAMPLES;
		}
	return type;
}

enum err fox_samples(struct fox *f, const struct fox_thread *t, struct fox_tables *tables)
{
	static const char *const names[] = {"stack",  "time",		"timeDeltas",
					    "weight", "threadCPUDelta", NULL};
	enum weight_type weights = take_weight_type(&f->j, &t->samples);
	struct fox_table samples;
	struct row row = {0};
	enum err e;

	fox_table_init(&samples, names);
	json_seek(&f->j, &t->samples);
	fox_table_read(&samples, &f->j, f->out);
	e = f->j.error;
	if (!e)
		e = thread_labels(f, t, &row.labels);
	if (!e)
		e = add_samples(f, tables, &samples, weights, row);
	fox_table_release(&samples);
	return e;
}

enum err fox_time_profile(struct fox *f)
{
	struct profile *p;

	return choose_profile(f, WEIGHT_SAMPLES, &p);
}
