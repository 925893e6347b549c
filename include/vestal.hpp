/*
 * libvestal for C++: what begins with an object ends with it.
 *
 *	vestalpp::profiler profiler(&options);         // throws std::runtime_error
 *	{
 *		vestalpp::span span(trace_id, span_id, "checkout.totals");
 *		vestalpp::label endpoint("endpoint", "/cart");
 *		...
 *	}
 *
 * The namespace is not called vestal because a struct is (vestal.h).
 *
 * A span and a label belong to the thread that made them, and end in the reverse order of their
 * beginning: keep them in local variables.
 */
#ifndef VESTAL_HPP
#define VESTAL_HPP

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <vestal.h>

namespace vestalpp {

class profiler {
public:
	explicit profiler(const vestal_options *options = nullptr)
	{
		if (vestal_start(options, &handle_))
			throw std::runtime_error(vestal_last_error());
	}
	~profiler() { vestal_stop(handle_); }
	profiler(const profiler &) = delete;
	profiler &operator=(const profiler &) = delete;

private:
	struct vestal *handle_ = nullptr;
};

/* Left by an exception it counts as failed. */
class span {
public:
	span(const uint8_t (&trace_id)[16], const uint8_t (&span_id)[8], const char *name = nullptr)
	    : exceptions_(std::uncaught_exceptions())
	{
		vestal_span_enter(trace_id, span_id, name);
	}
	~span() { vestal_span_exit(std::uncaught_exceptions() > exceptions_); }
	span(const span &) = delete;
	span &operator=(const span &) = delete;

private:
	int exceptions_;
};

/* Takes the key away at its end. */
class label {
public:
	label(std::string key, const char *value) : key_(std::move(key))
	{
		if (vestal_label_set(key_.c_str(), value))
			throw std::runtime_error(vestal_last_error());
	}
	~label() { vestal_label_set(key_.c_str(), nullptr); }
	label(const label &) = delete;
	label &operator=(const label &) = delete;

private:
	std::string key_;
};

} // namespace vestalpp

#endif
