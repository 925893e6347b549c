/*
 * A sink that writes down what it is given, as text that tests compare:
 *
 *	{commit=abc,service_name=shop} 1700000000000000000+15000000000
 *	  process_cpu:cpu:nanoseconds:cpu:nanoseconds
 *	    main;work {thread=a} 00f0…/4bf9…: 10
 */
#pragma once

#include "../test.h"

#include "pipeline/receive.h"

#define NOW_NS 1700000000123456789

struct recorder {
	struct receive r;
	struct buf text;
	struct dict warm;	      /* the service's dictionary */
	uint64_t warm_calls, foreign; /* profiles that came over another one */
	char warm_service[64];
	enum err fail; /* what the sink answers */
	struct fault fault;
};

static inline void record_hex(struct buf *out, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%02x", bytes[i]);
}

static inline void record_row(struct buf *out, const struct series_profile *s, size_t i)
{
	const struct profile *p = s->profile;
	struct row row = profile_row(p, i);
	uint32_t n, labels;
	const uint32_t *frames = stack_frames(p->dict, row.stack, &n);
	const uint32_t *items = label_set_items(p->dict, row.labels, &labels);

	buf_text(out, "    ");
	for (uint32_t f = n; f > 0; f--) {
		frame_label(p->dict, frames[f - 1], out);
		if (f > 1)
			buf_byte(out, ';');
	}
	for (uint32_t l = 0; l < labels; l++) {
		const struct label *label = &p->dict->labels.v[items[l]];

		buf_text(out, l ? "," : " {");
		buf_str(out, dict_str(p->dict, label->key));
		buf_byte(out, '=');
		label_value(p->dict, label, out);
	}
	if (labels)
		buf_byte(out, '}');
	if (row.link) {
		buf_byte(out, ' ');
		record_hex(out, p->dict->links.v[row.link].span_id, 8);
		buf_byte(out, '/');
		record_hex(out, p->dict->links.v[row.link].trace_id, 16);
	}
	buf_byte(out, ':');
	for (uint32_t t = 0; t < p->type_count; t++)
		if (s->types[t].n)
			buf_printf(out, " %lld", (long long)profile_values(p, i)[t]);
	buf_byte(out, '\n');
}

static inline enum err record_profile(void *context, const struct series_profile *s,
				      struct fault *fault)
{
	struct recorder *rec = context;
	struct buf *out = &rec->text;

	if (rec->fail)
		return fault_set(fault, rec->fail, "the sink says no");
	rec->foreign += s->profile->dict != &rec->warm;
	for (size_t i = 0; i < s->label_count; i++) {
		/* The contract: sorted, no two alike. */
		if (i && str_cmp(s->labels[i - 1].name, s->labels[i].name) >= 0)
			buf_text(out, "UNSORTED ");
		buf_printf(out, "%s%.*s=%.*s", i ? "," : "{", (int)s->labels[i].name.n,
			   s->labels[i].name.p, (int)s->labels[i].value.n, s->labels[i].value.p);
	}
	buf_printf(out, "} %lld+%lld\n", (long long)s->time_ns, (long long)s->duration_ns);
	for (uint32_t t = 0; t < s->profile->type_count; t++)
		if (s->types[t].n)
			buf_printf(out, "  %.*s\n", (int)s->types[t].n, s->types[t].p);
	for (size_t i = 0; i < s->profile->row_count; i++)
		record_row(out, s, i);
	return buf_error(out);
}

static inline enum err record_span(void *context, const struct trace_span *s, struct fault *fault)
{
	struct recorder *rec = context;
	struct buf *out = &rec->text;

	if (rec->fail)
		return fault_set(fault, rec->fail, "the sink says no");
	record_hex(out, s->trace_id, 16);
	buf_byte(out, ' ');
	record_hex(out, s->span_id, 8);
	buf_byte(out, ' ');
	record_hex(out, s->parent_id, 8);
	buf_printf(out, " %.*s %.*s kind=%u status=%u %lld+%lld", (int)s->service.n, s->service.p,
		   (int)s->operation.n, s->operation.p, s->kind, s->status, (long long)s->start_ns,
		   (long long)s->duration_ns);
	for (size_t i = 0; i < s->attribute_count; i++)
		buf_printf(out, "%s%.*s=%.*s", i ? "," : " ", (int)s->attributes[i].name.n,
			   s->attributes[i].name.p, (int)s->attributes[i].value.n,
			   s->attributes[i].value.p);
	buf_byte(out, '\n');
	return buf_error(out);
}

static inline enum err record_dictionary(void *context, struct str service, struct dict **ret,
					 struct fault *fault)
{
	struct recorder *rec = context;

	(void)fault;
	rec->warm_calls++;
	snprintf(rec->warm_service, sizeof(rec->warm_service), "%.*s", (int)service.n, service.p);
	*ret = &rec->warm;
	return ERR_OK;
}

static inline enum err recorder_init(struct recorder *rec)
{
	*rec = (struct recorder){.text = BUF_INIT((size_t)64 << 20)};
	rec->r = (struct receive){.sink = {.context = rec,
					   .seed = 7,
					   .dictionary = record_dictionary,
					   .profile = record_profile,
					   .span = record_span},
				  .limits = receive_limits_default,
				  .now_ns = NOW_NS};
	return dict_init(&rec->warm, 7);
}

static inline void recorder_release(struct recorder *rec)
{
	received_release(&rec->r.result);
	buf_release(&rec->text);
	dict_release(&rec->warm);
}

/* The next request, same dictionary. */
static inline void recorder_clear(struct recorder *rec)
{
	received_release(&rec->r.result);
	rec->r.result = (struct received){0};
	rec->fault = (struct fault){0};
	buf_clear(&rec->text);
}

static inline bool recorded(const struct recorder *rec, const char *part)
{
	bool found = rec->text.data && strstr(rec->text.data, part);

	if (!found)
		printf("# not found: %s\n# in: %.2000s\n", part, rec->text.n ? rec->text.data : "");
	return found;
}
