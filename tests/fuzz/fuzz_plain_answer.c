/* An answer over HTTP: in one piece or in two, it is the same one. */
#include <stdlib.h>

#include "net/plain_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 1000

static enum err take(struct str first, struct str second, struct plain_answer *a, struct buf *body)
{
	enum err e;

	*body = BUF_INIT(BODY_MAX);
	plain_answer_init(a, body);
	e = plain_answer_add(a, first);
	if (!e && second.n)
		e = plain_answer_add(a, second);
	return e ? e : plain_answer_end(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t cut = size > 1 ? data[0] % size : 0;
	struct str all = size ? str_n(data + 1, size - 1) : (struct str){"", 0};
	struct plain_answer whole, parts;
	struct buf whole_body, parts_body;
	enum err a, b;

	if (cut > all.n)
		cut = all.n;
	a = take(all, (struct str){"", 0}, &whole, &whole_body);
	b = take(str_n(all.p, cut), str_skip(all, cut), &parts, &parts_body);
	if (!a != !b || (!a && (whole.status != parts.status ||
				!str_eq(buf_view(&whole_body), buf_view(&parts_body)) ||
				!str_eq(buf_view(&whole.problem), buf_view(&parts.problem)))))
		abort();
	if (whole_body.n > BODY_MAX || whole.problem.n > whole.problem.ceiling)
		abort();
	plain_answer_release(&whole);
	plain_answer_release(&parts);
	buf_release(&whole_body);
	buf_release(&parts_body);
	return 0;
}
