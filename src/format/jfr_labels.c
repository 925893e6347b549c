/*
 * Threads, states and classes of the pools, to labels of the dictionary.
 */
#include "format/jfr.h"

static enum err text_label(struct jfr_reader *r, struct str key, struct str value, uint32_t *ret)
{
	*ret = 0;
	return value.n ? dict_label_text(r->out->dict, key, value, ret) : ERR_OK;
}

static enum err number_label(struct jfr_reader *r, struct str key, int64_t value, uint32_t *ret)
{
	struct label l = {.type = LABEL_INT, .value = value};

	TRY(dict_string(r->out->dict, key, &l.key));
	return dict_label(r->out->dict, &l, ret);
}

/* The name and the number Java gave the thread, else those of the operating system. */
static enum err make_thread(struct jfr_reader *r, const struct jfr_value *slots, uint32_t *ret_name,
			    uint32_t *ret_id)
{
	int64_t id = (int64_t)slots[JFR_THREAD_JAVA_ID].number;
	struct str name;

	TRY(jfr_text(r, &slots[JFR_THREAD_JAVA_NAME], &name));
	if (!name.n)
		TRY(jfr_text(r, &slots[JFR_THREAD_OS_NAME], &name));
	if (!utf8_valid(name))
		notes_add(&r->out->notes, "a name is not valid UTF-8; kept as it is");
	TRY(text_label(r, STR("thread.name"), name, ret_name));
	if (slots[JFR_THREAD_JAVA_ID].kind != JFR_NUMBER || id <= 0)
		id = (int64_t)slots[JFR_THREAD_OS_ID].number;
	*ret_id = 0;
	return id > 0 ? number_label(r, STR("thread.id"), id, ret_id) : ERR_OK;
}

enum err jfr_thread_labels(struct jfr_reader *r, const struct jfr_value *v, uint32_t *ret_name,
			   uint32_t *ret_id)
{
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_pool_entry *entry;

	*ret_name = *ret_id = 0;
	if (!jfr_object(r->chunk, v, JFR_KIND_THREAD, slots, &entry))
		return ERR_OK;
	if (entry && entry->memo != JFR_NO_MEMO) {
		*ret_name = r->thread_labels.v[entry->memo];
		*ret_id = r->thread_labels.v[entry->memo + 1];
		return ERR_OK;
	}
	TRY(make_thread(r, slots, ret_name, ret_id));
	if (!entry)
		return ERR_OK;
	TRY(vec_reserve(&r->thread_labels, 2));
	entry->memo = (uint32_t)r->thread_labels.n;
	r->thread_labels.v[r->thread_labels.n++] = *ret_name;
	r->thread_labels.v[r->thread_labels.n++] = *ret_id;
	return ERR_OK;
}

enum err jfr_state_label(struct jfr_reader *r, const struct jfr_value *v, uint32_t *ret)
{
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_pool_entry *entry;
	struct str name;

	*ret = 0;
	if (!jfr_object(r->chunk, v, JFR_KIND_THREAD_STATE, slots, &entry))
		return ERR_OK;
	if (entry && entry->memo != JFR_NO_MEMO) {
		*ret = entry->memo;
		return ERR_OK;
	}
	TRY(jfr_text(r, &slots[JFR_NAME_NAME], &name));
	TRY(text_label(r, STR("thread.state"), name, ret));
	if (entry)
		entry->memo = *ret;
	return ERR_OK;
}

enum jfr_state jfr_state_of(const struct jfr_reader *r, uint32_t label)
{
	const struct dict *d = r->out->dict;
	struct str name = label ? dict_str(d, (uint32_t)d->labels.v[label].value) : STR("");

	if (str_eq(name, STR("STATE_RUNNABLE")))
		return JFR_STATE_RUNNING;
	if (str_eq(name, STR("STATE_SLEEPING")) || str_starts(name, STR("STATE_PARKED")) ||
	    str_starts(name, STR("STATE_IN_OBJECT_WAIT")) || str_starts(name, STR("STATE_BLOCKED")))
		return JFR_STATE_BLOCKED;
	return JFR_STATE_UNKNOWN;
}

enum err jfr_class_label(struct jfr_reader *r, const struct jfr_value *v, uint32_t *ret)
{
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_pool_entry *entry;

	*ret = 0;
	if (!jfr_object(r->chunk, v, JFR_KIND_CLASS, slots, &entry))
		return ERR_OK;
	if (entry && entry->memo != JFR_NO_MEMO) {
		*ret = entry->memo;
		return ERR_OK;
	}
	buf_clear(&r->text);
	TRY(jfr_class_name(r, v, &r->text));
	TRY(text_label(r, STR("class"), buf_view(&r->text), ret));
	if (entry)
		entry->memo = *ret;
	return ERR_OK;
}
