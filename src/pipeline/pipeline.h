/*
 * What happens to profiles between the network and whoever keeps them. Other folders include this
 * header only.
 *
 *	receive.h   requests of every kind of client
 *	baseline.h  what counters were before
 *	scrape.h    answers of those who were asked
 *	multipart.h forms
 */
#pragma once

#include "pipeline/baseline.h"
#include "pipeline/multipart.h"
#include "pipeline/receive.h"
#include "pipeline/scrape.h"
