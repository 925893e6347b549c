#include "sdk/shared_context.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "format/format.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define NAME	    "OTEL_CTX"
#define VERSION	    2
#define PAYLOAD_MAX 16384
#define SCHEMA	    "tlsdesc_v1_dev"

/* Fields of the standard's messages. */
enum { CONTEXT_RESOURCE = 1, CONTEXT_ATTRIBUTES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { ANY_STRING_FIELD = 1, ANY_ARRAY_FIELD = 5, ARRAY_VALUES = 1 };

struct context_header {
	char signature[8];
	u32 version, size;
	_Atomic(u64) published_ns;
	u64 payload;
};

_Static_assert(sizeof(struct context_header) == 32, "as the standard says");
_Static_assert(offsetof(struct thread_record, key) == 28, "as the standard says");

__thread struct thread_record *otel_thread_ctx_v1
	__attribute__((tls_model("initial-exec"), visibility("default")));

static struct context_header *published;

static void put_text(struct buf *b, u32 field, struct str key, struct str value)
{
	size_t pair = pb_begin(b, field), any;

	pb_put_bytes(b, PAIR_KEY, key);
	any = pb_begin(b, PAIR_VALUE);
	pb_put_bytes(b, ANY_STRING_FIELD, value);
	pb_end(b, any);
	pb_end(b, pair);
}

/* "a=b,c=d" */
static void put_attributes(struct buf *b, struct str list)
{
	struct str one;

	while (str_split(&list, ',', &one)) {
		size_t at = str_find(one, '=');
		struct str key = str_trim(str_n(one.p, at));

		if (at < one.n && key.n && !str_eq(key, STR("service.name")) && utf8_valid(one))
			put_text(b, RESOURCE_ATTRIBUTES, key, str_trim(str_skip(one, at + 1)));
	}
}

static void put_key_map(struct buf *b)
{
	size_t pair = pb_begin(b, CONTEXT_ATTRIBUTES), any, array, value;

	pb_put_bytes(b, PAIR_KEY, STR("threadlocal.attribute_key_map"));
	any = pb_begin(b, PAIR_VALUE);
	array = pb_begin(b, ANY_ARRAY_FIELD);
	value = pb_begin(b, ARRAY_VALUES);
	pb_put_bytes(b, ANY_STRING_FIELD, STR("span_name"));
	pb_end(b, value);
	pb_end(b, array);
	pb_end(b, any);
	pb_end(b, pair);
}

static void put_payload(struct buf *b, const struct sdk_settings *s)
{
	size_t resource = pb_begin(b, CONTEXT_RESOURCE);

	put_text(b, RESOURCE_ATTRIBUTES, STR("service.name"), str_of(s->service));
	put_attributes(b, str_of(s->attributes));
	pb_end(b, resource);
	put_text(b, CONTEXT_ATTRIBUTES, STR("threadlocal.schema_version"), STR(SCHEMA));
	put_key_map(b);
}

/* Found by its name: that of the file in memory, or the one it is given. */
static void *map_named(size_t size)
{
	int fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

enum err process_context_publish(const struct sdk_settings *s)
{
	CLEANUP(buf_release) struct buf payload = BUF_INIT(PAYLOAD_MAX);
	struct context_header *h;
	struct timespec now;
	size_t size;

	if (published)
		return ERR_OK;
	put_payload(&payload, s);
	TRY(buf_error(&payload));
	size = sizeof(*h) + payload.n;
	h = map_named(size);
	if (!h)
		return ERR_NO_MEMORY;
	/* A child is another process, perhaps another service. */
	(void)madvise(h, size, MADV_DONTFORK);
	memcpy(h + 1, payload.data, payload.n);
	memcpy(h->signature, NAME, sizeof(h->signature));
	h->version = VERSION;
	h->size = (u32)payload.n;
	h->payload = (u64)(uintptr_t)(h + 1);
	clock_gettime(CLOCK_BOOTTIME, &now);
	atomic_thread_fence(memory_order_seq_cst);
	h->published_ns = (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
	/* Readers may wait for this very call; older kernels do not know it. */
	(void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, h, size, NAME);
	published = h;
	return ERR_OK;
}

void process_context_after_fork(void)
{
	published = NULL;
}
