/*
 * The flame graph as one HTML file: the page built from web/, with the profile put in.
 */
#include "base/base64.h"
#include "format/flame_template.h"
#include "format/formats_internal.h"
#include "format/vft.h"

#define DATA_MARK  "<!--VESTAL-DATA-->"
#define TITLE_MARK "<!--VESTAL-TITLE-->"
#define DATA_OPEN  "<script type=\"application/octet-stream\" id=\"vestal-data\">"

/* U+FFFE and U+FFFF, valid UTF-8 that XML forbids. */
static bool is_noncharacter(struct str text)
{
	return str_starts(text, STR("\xef\xbf\xbe")) || str_starts(text, STR("\xef\xbf\xbf"));
}

void put_xml_text(struct buf *out, struct str text)
{
	while (text.n) {
		size_t n = utf8_length(text);
		unsigned char c = (unsigned char)text.p[0];

		if (c == '<')
			buf_text(out, "&lt;");
		else if (c == '>')
			buf_text(out, "&gt;");
		else if (c == '&')
			buf_text(out, "&amp;");
		else if (c == '"')
			buf_text(out, "&quot;");
		else if (!n || (c < 0x20 && c != '\t') || is_noncharacter(text))
			buf_text(out, "\xef\xbf\xbd");
		else
			buf_append(out, text.p, n);
		text = str_skip(text, n ? n : 1);
	}
}

static enum err put_data(struct writing *in, struct buf *out)
{
	CLEANUP(buf_release) struct buf tree = BUF_INIT((size_t)1 << 30);
	CLEANUP(buf_release) struct buf packed = BUF_INIT((size_t)1 << 30);

	TRY(vft_encode(in, &tree));
	TRY(compress_gzip(buf_view(&tree), 9, &packed));
	buf_text(out, DATA_OPEN);
	base64_put(out, buf_view(&packed), true);
	buf_text(out, "</script>");
	return buf_error(out);
}

enum err html_write(struct writing *in, struct buf *out)
{
	struct str page = str_n(flame_html, flame_html_size);
	size_t title, data;

	if (!page.n)
		return fault_set(&in->fault, ERR_UNSUPPORTED,
				 "this vestal was built without npm and has no HTML page inside: "
				 "install npm and run make again, or write .svg");
	title = str_search(page, STR(TITLE_MARK));
	data = str_search(page, STR(DATA_MARK));
	if (title >= data || data == page.n)
		return fault_set(&in->fault, ERR_INTERNAL, "the page inside vestal has no marks");
	buf_append(out, page.p, title);
	put_xml_text(out, str_of(in->title ? in->title : "profile"));
	title += sizeof(TITLE_MARK) - 1;
	buf_append(out, page.p + title, data - title);
	TRY(put_data(in, out));
	buf_str(out, str_skip(page, data + sizeof(DATA_MARK) - 1));
	return buf_error(out);
}
