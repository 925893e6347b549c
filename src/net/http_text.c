/* Words of HTTP that depend on nothing: reasons, dates. */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "net/session.h"

const char *http_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{100, "Continue"},
		{200, "OK"},
		{201, "Created"},
		{202, "Accepted"},
		{204, "No Content"},
		{206, "Partial Content"},
		{301, "Moved Permanently"},
		{302, "Found"},
		{303, "See Other"},
		{304, "Not Modified"},
		{307, "Temporary Redirect"},
		{308, "Permanent Redirect"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{406, "Not Acceptable"},
		{408, "Request Timeout"},
		{409, "Conflict"},
		{411, "Length Required"},
		{412, "Precondition Failed"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{415, "Unsupported Media Type"},
		{416, "Range Not Satisfiable"},
		{417, "Expectation Failed"},
		{421, "Misdirected Request"},
		{422, "Unprocessable Content"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{499, "Client Closed Request"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
		{505, "HTTP Version Not Supported"},
		{507, "Insufficient Storage"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return status < 400 ? "OK" : "Error";
}

/* "Sun, 15 Nov 2026 19:21:37 GMT", in English in every locale. */
static void format_date(time_t second, char *text, size_t size)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm t;

	if (!gmtime_r(&second, &t))
		return;
	snprintf(text, size, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
		 days + (size_t)t.tm_wday * 3, (unsigned)t.tm_mday % 100,
		 months + (size_t)t.tm_mon * 3, ((unsigned)t.tm_year + 1900) % 10000,
		 (unsigned)t.tm_hour % 100, (unsigned)t.tm_min % 100, (unsigned)t.tm_sec % 100);
}

void session_clock(struct session_shared *shared)
{
	int64_t second = clock_wall_ns() / NS_PER_S;

	shared->now_ns = clock_monotonic_ns();
	if (second == shared->date_second)
		return;
	shared->date_second = second;
	format_date((time_t)second, shared->date, sizeof(shared->date));
}
