/*
 * The network. Other folders include this header only.
 *
 *	fetch.h  one URL into a buffer
 */
#pragma once

#include "net/fetch.h"
