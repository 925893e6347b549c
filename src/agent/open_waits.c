#include "agent/open_waits.h"

void open_waits_release(struct open_waits *w)
{
	vec_release(&w->list);
	map_release(&w->by_id);
	*w = (struct open_waits){0};
}

u64 open_waits_told(const struct open_waits *w, u64 wait_id)
{
	u32 at = map_get(&w->by_id, wait_id);

	return at == MAP_NONE ? 0 : w->list.v[at].told_ns;
}

enum err open_waits_add(struct open_waits *w, u64 wait_id, u64 told_ns)
{
	TRY(vec_push(&w->list, ((struct open_wait){wait_id, told_ns})));
	return map_put(&w->by_id, wait_id, (u32)w->list.n - 1);
}
