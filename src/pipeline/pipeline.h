/*
 * Processing of profiles between network and store. Other folders include this header only.
 *
 *	receive.h   requests of all kinds of clients
 *	baseline.h  differences of counters
 *	scrape.h    scraped profiles
 *	multipart.h forms
 */
#pragma once

#include "pipeline/baseline.h"
#include "pipeline/multipart.h"
#include "pipeline/receive.h"
#include "pipeline/scrape.h"
