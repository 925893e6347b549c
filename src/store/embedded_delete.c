/* Deleting by selector: whole services of a day where possible, else what is left is rewritten. */
#include "store/service_rewrite.h"
#include "store/catalog.h"

static bool takes_everything(const struct rewriting *w)
{
	int64_t day_ns = w->ds->day->name.day * NS_PER_DAY;
	const struct selection *s = w->selection;

	return w->choice.all_series && w->choice.matching_types == w->choice.type_count &&
	       !s->link_count && s->from_ns <= day_ns && s->until_ns >= day_ns + NS_PER_DAY;
}

static enum err delete_in_service(struct day_service *ds, const struct selection *selection,
				  struct fault *fault, uint64_t *removed)
{
	struct rewriting w = {
		.ds = ds, .selection = selection, .bytes = BUF_INIT(SIZE_MAX), .fault = fault};
	enum err error;

	TRY(service_partition(ds, &w.from, fault));
	mutex_lock(&w.from->lock);
	error = choice_init(&w.choice, w.from, selection);
	mutex_unlock(&w.from->lock);
	if (error == ERR_OK && w.choice.matching_series && w.choice.matching_types) {
		if (takes_everything(&w))
			error = service_drop(ds, &w.removed, fault);
		else
			error = service_rewrite(&w);
	}
	if (error == ERR_OK)
		*removed += w.removed;
	rewriting_release(&w);
	partition_give_back(ds->day->engine, w.from);
	return error;
}

static uint64_t shrunk_by(const struct day *d, const struct deletion_count *before)
{
	uint64_t bytes = db_disk_bytes(d->path);

	return bytes < before->bytes ? before->bytes - bytes : 0;
}

static enum err delete_services(struct day *d, const struct selection *selection, struct ask *ask,
				uint64_t *removed)
{
	struct fault *fault = ask ? ask->fault : NULL;
	enum err error = ERR_OK;

	TRY(day_look_into(d, fault));
	for (size_t i = 0; error == ERR_OK; i++) {
		struct day_service *ds = day_service_at(d, i);
		bool takes;

		if (!ds)
			break;
		error = ask_cancelled(ask)
				? ERR_CANCELLED
				: selection_takes_service(selection, str_of(ds->name), &takes);
		if (error == ERR_OK && takes && atomic_load(&ds->id))
			error = delete_in_service(ds, selection, fault, removed);
	}
	return error;
}

/* The file is smaller only after a checkpoint, and on a full disk that is what counts. */
static enum err shrink_now(struct day *d, struct fault *fault)
{
	enum err error;

	if (!disk_guard_refuses(&d->engine->disk))
		return day_shrink(d, fault);
	error = day_give_back(d, NULL);
	/* The deletion itself is complete: the next delete or cut of the day repeats this. */
	return error == ERR_NO_SPACE ? ERR_OK : error;
}

static enum err delete_in_day(struct day *d, const struct selection *selection, struct ask *ask,
			      uint64_t *removed)
{
	struct fault *fault = ask ? ask->fault : NULL;
	uint64_t before = *removed;
	struct deletion_count count;
	enum err error;

	deletion_begin(&count, d);
	mutex_lock(&d->upkeep);
	error = delete_services(d, selection, ask, removed);
	/* With the reserve, when it was the disk that had no room for it. */
	if (error != ERR_OK && embedded_make_room(d->engine, error))
		error = delete_services(d, selection, ask, removed);
	/* Also what a delete before could not give back. */
	if (error == ERR_OK && (*removed > before || disk_guard_refuses(&d->engine->disk)))
		error = shrink_now(d, fault);
	mutex_unlock(&d->upkeep);
	if (*removed > before)
		deletion_tell(d, STORE_DELETED_SELECTOR, (struct str){0}, shrunk_by(d, &count),
			      *removed - before);
	return error;
}

static void describe(const struct selection *s, struct buf *out)
{
	static const char *const ops[] = {"=", "!=", "=~", "!~"};

	buf_str(out, s->type);
	buf_byte(out, '{');
	for (size_t i = 0; i < s->matcher_count; i++)
		buf_printf(out, "%s%.*s%s\"%.*s\"", i ? "," : "", (int)s->matchers[i].name.n,
			   s->matchers[i].name.p, ops[s->matchers[i].op],
			   (int)s->matchers[i].value.n, s->matchers[i].value.p);
	buf_printf(out, "} from %lld until %lld", (long long)s->from_ns, (long long)s->until_ns);
}

enum err embedded_delete(struct store *s, struct str tenant, const struct selection *selection,
			 struct ask *ask, uint64_t *ret_profiles)
{
	struct fault *fault = ask ? ask->fault : NULL;
	struct buf what = BUF_INIT(64u << 10);
	struct day_list days = {0};
	uint64_t removed = 0;
	struct tenant *t;
	enum err error = tenant_get(embedded_of(s), tenant, false, &t, fault);

	if (error == ERR_NOT_FOUND || selection->from_ns >= selection->until_ns) {
		*ret_profiles = 0;
		return ERR_OK;
	}
	TRY(error);
	describe(selection, &what);
	/* Write the audit line before deleting anything. */
	error = audit_add(t, "delete", buf_view(&what), fault);
	if (error != ERR_OK && embedded_make_room(t->engine, error))
		error = audit_add(t, "delete", buf_view(&what), fault);
	buf_release(&what);
	if (error == ERR_OK)
		error = days_of_range(t, DAY_PROFILES, selection->from_ns, selection->until_ns,
				      &days, fault);
	for (size_t i = 0; error == ERR_OK && i < days.v.n; i++)
		error = delete_in_day(days.v.v[i], selection, ask, &removed);
	day_list_put(&days);
	if (error == ERR_OK)
		*ret_profiles = removed;
	return error;
}
