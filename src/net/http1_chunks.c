/*
 * The chunked coding:
 *
 *	size [;extension] CRLF  data CRLF  …  0 [;extension] CRLF  [name: value CRLF …]  CRLF
 *
 * Extensions and trailers are checked, bounded and thrown away.
 */
#include "net/http1_parse.h"

#define LINE_MAX_BYTES	256
#define EXTRA_MAX_BYTES (16u << 10)
#define SIZE_MAX_DIGITS 16

enum state {
	SIZE,
	EXTENSION,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER, /* at the beginning of a line */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	END_LF,
	END,
	BAD,
};

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum state after_size(struct http1_chunks *c, unsigned char byte)
{
	int digit = hex_digit(byte);

	if (digit >= 0) {
		if (c->line++ == SIZE_MAX_DIGITS || c->left > INT64_MAX >> 4)
			return BAD;
		c->left = c->left << 4 | (unsigned)digit;
		return SIZE;
	}
	if (!c->line)
		return BAD;
	c->line = 0;
	if (byte == ';')
		return EXTENSION;
	return byte == '\r' ? SIZE_LF : BAD;
}

/* A byte of an extension or a trailer: bounded, and no control character. */
static enum state bounded(struct http1_chunks *c, unsigned char byte, enum state same)
{
	if (++c->extra > EXTRA_MAX_BYTES || !http1_is_value(str_n(&byte, 1)))
		return BAD;
	return same;
}

static enum state after_extension(struct http1_chunks *c, unsigned char byte)
{
	if (byte == '\r')
		return SIZE_LF;
	if (++c->line > LINE_MAX_BYTES)
		return BAD;
	return bounded(c, byte, EXTENSION);
}

static enum state after_name(struct http1_chunks *c, unsigned char byte)
{
	if (byte == ':' && c->line)
		return TRAILER_VALUE;
	c->line++;
	return http1_is_token(str_n(&byte, 1)) ? bounded(c, byte, TRAILER_NAME) : BAD;
}

static enum state after_byte(struct http1_chunks *c, unsigned char byte)
{
	switch (c->state) {
	case SIZE:
		return after_size(c, byte);
	case EXTENSION:
		return after_extension(c, byte);
	case SIZE_LF:
		c->line = 0;
		return byte != '\n' ? BAD : c->left ? DATA : TRAILER;
	case DATA_CR:
		return byte == '\r' ? DATA_LF : BAD;
	case DATA_LF:
		return byte == '\n' ? SIZE : BAD;
	case TRAILER:
		c->line = 0;
		return byte == '\r' ? END_LF : after_name(c, byte);
	case TRAILER_NAME:
		return after_name(c, byte);
	case TRAILER_VALUE:
		return byte == '\r' ? TRAILER_LF : bounded(c, byte, TRAILER_VALUE);
	case TRAILER_LF:
		return byte == '\n' ? TRAILER : BAD;
	case END_LF:
		return byte == '\n' ? END : BAD;
	default:
		return BAD;
	}
}

enum http1_progress http1_chunks_next(struct http1_chunks *c, struct str *input,
				      struct str *ret_data, struct http1_refusal *refusal)
{
	*ret_data = (struct str){NULL, 0};
	while (input->n && c->state != END && c->state != BAD) {
		if (c->state == DATA) {
			size_t n = input->n < c->left ? input->n : (size_t)c->left;

			*ret_data = str_n(input->p, n);
			*input = str_skip(*input, n);
			c->left -= n;
			c->state = c->left ? DATA : DATA_CR;
			return HTTP1_MORE;
		}
		c->state = after_byte(c, (unsigned char)input->p[0]);
		*input = str_skip(*input, 1);
	}
	if (c->state == BAD) {
		*refusal = (struct http1_refusal){400, "the chunks of the body are not valid"};
		return HTTP1_REFUSED;
	}
	return c->state == END ? HTTP1_DONE : HTTP1_MORE;
}
