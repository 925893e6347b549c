/*
 * Labels of samples.
 */
#include "base/hash.h"
#include "format/pprof.h"

static enum err read_label(struct pprof_file *f, struct str bytes, struct label *ret)
{
	struct pb c = pb_of(bytes);
	uint32_t text = 0, id;
	uint64_t str_index = 0;
	bool has_number = false;

	*ret = (struct label){0};
	while (pb_next(&c)) {
		if (c.type != PB_VARINT)
			continue;
		switch (c.field) {
		case PPROF_LABEL_KEY:
			TRY(pprof_intern_string(f, c.value, &ret->key));
			break;
		case PPROF_LABEL_STR:
			str_index = c.value;
			TRY(pprof_intern_string(f, c.value, &text));
			break;
		case PPROF_LABEL_NUM:
			ret->value = (int64_t)c.value;
			has_number = true;
			break;
		case PPROF_LABEL_NUM_UNIT:
			TRY(pprof_intern_string(f, c.value, &id));
			ret->unit = id;
			break;
		}
	}
	if (c.failed)
		return pprof_fault(f, ERR_TRUNCATED, bytes.p, "a sample's label is cut");
	/* As google/pprof reads it: a string when there is one, a number when there is a number or
	 * a unit, and the empty string otherwise. */
	if (str_index || (!has_number && !ret->unit)) {
		ret->type = LABEL_STRING;
		ret->value = text;
		ret->unit = 0;
	} else {
		ret->type = LABEL_INT;
	}
	return ERR_OK;
}

static enum err intern_labels(struct pprof_file *f, struct pprof_labels *known, size_t i,
			      uint32_t *ret)
{
	struct pb c = pprof_message(f, f->samples.v[i]);
	struct label label;
	uint32_t id;

	known->scratch.n = 0;
	while (pb_next(&c)) {
		if (c.field != PPROF_SAMPLE_LABEL || c.type != PB_BYTES)
			continue;
		if (known->scratch.n >= 4096)
			return pprof_sample_fault(f, i, ERR_TOO_LARGE, "more labels than",
						  known->scratch.n);
		TRY(read_label(f, c.bytes, &label));
		TRY(dict_label(f->out->dict, &label, &id));
		TRY(vec_push(&known->scratch, id));
	}
	return dict_label_set(f->out->dict, known->scratch.v, (uint32_t)known->scratch.n, ret);
}

/* Samples of a file mostly repeat a few label sets: equal bytes mean equal labels. */
enum err pprof_find_labels(struct pprof_file *f, struct pprof_labels *known, size_t i,
			   uint32_t *ret)
{
	struct pb c = pprof_message(f, f->samples.v[i]);
	uint64_t hash = 0;

	while (pb_next(&c))
		if (c.field == PPROF_SAMPLE_LABEL && c.type == PB_BYTES)
			hash = hash_bytes(c.bytes.p, c.bytes.n, hash ^ f->out->dict->seed);
	*ret = map_get(&known->memo, hash);
	if (*ret != MAP_NONE)
		return ERR_OK;
	TRY(intern_labels(f, known, i, ret));
	return map_put(&known->memo, hash, *ret);
}

void pprof_labels_release(struct pprof_labels *known)
{
	vec_release(&known->scratch);
	map_release(&known->memo);
}
