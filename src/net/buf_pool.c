#include "net/buf_pool.h"

void buf_pool_release(struct buf_pool *p)
{
	while (p->n)
		buf_release(&p->slots[--p->n]);
}

struct buf buf_pool_get(struct buf_pool *p, size_t ceiling)
{
	struct buf b = BUF_INIT(ceiling);

	if (!p->n)
		return b;
	b = p->slots[--p->n];
	b.ceiling = ceiling;
	buf_clear(&b);
	return b;
}

void buf_pool_put(struct buf_pool *p, struct buf *b)
{
	if (!b->data || b->cap > BUF_POOL_MAX || p->n == BUF_POOL_SLOTS) {
		buf_release(b);
		return;
	}
	p->slots[p->n++] = *b;
	*b = BUF_INIT(b->ceiling);
}
