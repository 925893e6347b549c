/*
 * SHA-256 (FIPS 180-4), for secrets that are stored only as hashes. OpenSSL has it, too, but
 * loading that library takes longer than most commands (docs/decisions/0006).
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define SHA256_BYTES 32

void sha256(struct str data, uint8_t ret[SHA256_BYTES]);
