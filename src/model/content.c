/*
 * Content hashes: the identity of an entry in 64 bits, in every dictionary.
 *
 * A stack's hash is the sum over its frames of hash × multiplier(position): no step waits for the
 * one before, so a decoder hashes a frame in two or three nanoseconds (docs/decisions/0002).
 *
 * Numbers of the file (addresses, lines) are mixed with the hash of a string, which depends on the
 * seed, so that chosen numbers cannot make a product 0 and entries collide. The short ones are in
 * dict.h, where decoders can inline them.
 */
#include "base/hash.h"
#include "model/dict.h"

uint64_t content_string(const struct dict *d, struct str s)
{
	return hash_bytes(s.p, s.n, d->seed);
}

uint64_t content_mapping(const struct mapping *m, uint64_t file, uint64_t build_id, uint64_t go_id,
			 uint64_t htl)
{
	uint64_t place = hash_mix(hash_mix(m->start ^ htl, m->limit ^ file),
				  hash_mix(m->offset ^ build_id, m->flags ^ go_id));
	uint64_t ids = hash_mix(hash_mix(build_id, go_id), hash_mix(htl, file));

	return hash_mix(place, ids);
}

uint64_t stack_hash(const struct dict *d, uint32_t stack)
{
	return d->stacks.entries.v[stack].hash;
}
