// Spans of the OpenTelemetry C++ SDK on samples of libvestal.
//
//	vestal_opentelemetry::follow_contexts();          // before the first span: enter and exit
//	provider->AddProcessor(std::make_unique<vestal_opentelemetry::span_names>());   // names, failures
//
// A span is entered when it becomes the current one of its thread (trace::Scope) and left when it
// no longer is. The API does not tell a span's name nor its outcome; the processor, which may be
// left out, does.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/trace/context.h>
#include <opentelemetry/trace/span.h>
#include <vestal.h>

namespace vestal_opentelemetry
{

// What this thread's processor saw last; a span is attached and ended where it was made, mostly.
struct last_seen {
	uint8_t started[8] = {}, failed[8] = {};
	std::string name;

	static last_seen &of_thread()
	{
		static thread_local last_seen seen;
		return seen;
	}
};

class context_storage : public opentelemetry::context::ThreadLocalContextStorage
{
	using base = opentelemetry::context::ThreadLocalContextStorage;
	using context = opentelemetry::context::Context;
	using token = opentelemetry::context::Token;

	struct attached {
		context what;
		uint8_t span[8];
		bool entered;
	};

	static std::vector<attached> &stack()
	{
		static thread_local std::vector<attached> contexts;
		return contexts;
	}

	// A context without a span of its own, or with that of the one before, changes nothing.
	static attached enter(const context &c)
	{
		auto span = opentelemetry::trace::GetSpan(c)->GetContext();
		attached a = {c, {}, false};

		std::memcpy(a.span, span.span_id().Id().data(), sizeof(a.span));
		if (!span.IsValid() ||
		    (!stack().empty() && !std::memcmp(stack().back().span, a.span, sizeof(a.span))))
			return a;
		const last_seen &seen = last_seen::of_thread();
		bool named = !std::memcmp(seen.started, a.span, sizeof(a.span));
		vestal_span_enter(span.trace_id().Id().data(), a.span,
				  named ? seen.name.c_str() : nullptr);
		a.entered = true;
		return a;
	}

	static void leave(const attached &a)
	{
		const last_seen &seen = last_seen::of_thread();

		if (a.entered)
			vestal_span_exit(!std::memcmp(seen.failed, a.span, sizeof(a.span)));
	}

      public:
	opentelemetry::nostd::unique_ptr<token> Attach(const context &c) noexcept override
	{
		stack().push_back(enter(c));
		return base::Attach(c);
	}

	// Detaching one detaches all that were attached after it.
	bool Detach(token &t) noexcept override
	{
		if (!base::Detach(t))
			return false;
		while (!stack().empty()) {
			attached last = std::move(stack().back());

			stack().pop_back();
			leave(last);
			if (t == last.what)
				break;
		}
		return true;
	}
};

inline void follow_contexts()
{
	using namespace opentelemetry;

	context::RuntimeContext::SetRuntimeContextStorage(
		nostd::shared_ptr<context::RuntimeContextStorage>(new context_storage));
}

} // namespace vestal_opentelemetry

#if __has_include(<opentelemetry/sdk/trace/processor.h>)
#include <opentelemetry/sdk/trace/processor.h>
#include <opentelemetry/sdk/trace/span_data.h>

namespace vestal_opentelemetry
{

class span_names : public opentelemetry::sdk::trace::SpanProcessor
{
	using recordable = opentelemetry::sdk::trace::Recordable;
	using span_data = opentelemetry::sdk::trace::SpanData;

      public:
	std::unique_ptr<recordable> MakeRecordable() noexcept override
	{
		return std::unique_ptr<recordable>(new span_data);
	}

	void OnStart(recordable &r, const opentelemetry::trace::SpanContext &) noexcept override
	{
		const auto &span = static_cast<const span_data &>(r);
		last_seen &seen = last_seen::of_thread();
		auto name = span.GetName();

		std::memcpy(seen.started, span.GetSpanId().Id().data(), sizeof(seen.started));
		seen.name.assign(name.data(), name.size());
	}

	void OnEnd(std::unique_ptr<recordable> &&r) noexcept override
	{
		const auto &span = static_cast<const span_data &>(*r);

		if (span.GetStatus() == opentelemetry::trace::StatusCode::kError)
			std::memcpy(last_seen::of_thread().failed, span.GetSpanId().Id().data(),
				    sizeof(last_seen::failed));
	}

	bool ForceFlush(std::chrono::microseconds) noexcept override
	{
		return true;
	}

	bool Shutdown(std::chrono::microseconds) noexcept override
	{
		return true;
	}
};

} // namespace vestal_opentelemetry
#endif
