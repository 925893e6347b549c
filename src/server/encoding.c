#include "server/encoding.h"

#include <strings.h>

#define WORTH_COMPRESSING 1400 /* less travels in one packet anyway */
#define GZIP_LEVEL	  4

static bool same_word(struct str a, struct str b)
{
	return a.n == b.n && (!a.n || strncasecmp(a.p, b.p, a.n) == 0);
}

/* The name that format's decompress gives it; NULL: not known. */
static const char *known_name(struct str encoding)
{
	if (!encoding.n || same_word(encoding, STR("identity")))
		return "none";
	if (same_word(encoding, STR("gzip")) || same_word(encoding, STR("x-gzip")))
		return "gzip";
	return same_word(encoding, STR("zstd")) ? "zstd" : NULL;
}

enum err encoding_undo(struct str encoding, struct str bytes, const struct limits *limits,
		       struct buf *plain, struct str *ret, struct fault *fault)
{
	const char *wanted = known_name(str_trim(encoding)), *found = "none";
	enum err e = ERR_OK;

	if (!wanted)
		return fault_set(
			fault, ERR_UNSUPPORTED,
			"the encoding \"%.*s\" is not known here; known are " ENCODING_KNOWN,
			encoding.n < 64 ? (int)encoding.n : 64, encoding.p);
	if (bytes.n > limits->max_bytes)
		return fault_set(fault, ERR_TOO_LARGE, "more than %zu bytes", limits->max_bytes);
	if (!bytes.n || strcmp(wanted, "none") == 0) {
		*ret = bytes;
		return ERR_OK;
	}
	e = decompress(bytes, limits, plain, &found, fault);
	if (e == ERR_TOO_LARGE)
		return fault_set(fault, e,
				 "%zu bytes of %s expand to more than %zu bytes, or %u times",
				 bytes.n, wanted, limits->max_bytes, limits->max_ratio);
	if (e)
		return e;
	if (strcmp(found, wanted) != 0) {
		buf_release(plain);
		return fault_set(fault, ERR_CORRUPT, "declared as %s, but it is not", wanted);
	}
	*ret = buf_view(plain);
	return ERR_OK;
}

/* ";q=0", ";q=0.000": explicitly not. */
static bool is_refused(struct str parameters)
{
	size_t at = str_search(parameters, STR("q="));
	double weight;

	if (at == parameters.n)
		return false;
	return str_to_double(str_trim(str_skip(parameters, at + 2)), &weight) != ERR_OK ||
	       weight <= 0;
}

bool encoding_accepted(struct str list, struct str encoding)
{
	bool any = false;
	struct str item;

	while (str_split(&list, ',', &item)) {
		size_t end = str_find(item, ';');
		struct str name = str_trim(str_n(item.p, end));
		bool refused = is_refused(str_skip(item, end));

		if (same_word(name, encoding))
			return !refused;
		if (str_eq(name, STR("*")))
			any = !refused;
	}
	return any;
}

bool encoding_gzip(struct str accepted, struct buf *body)
{
	struct buf packed = BUF_INIT(SIZE_MAX);

	if (body->error || body->n < WORTH_COMPRESSING || !encoding_accepted(accepted, STR("gzip")))
		return false;
	/* Out of memory, or it did not shrink: send it uncompressed. */
	if (compress_gzip(buf_view(body), GZIP_LEVEL, &packed) || packed.n >= body->n) {
		buf_release(&packed);
		return false;
	}
	packed.ceiling = body->ceiling;
	buf_release(body);
	*body = packed;
	return true;
}
