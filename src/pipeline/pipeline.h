/*
 * What happens to profiles between the network and whoever keeps them. Other folders include this
 * header only.
 *
 *	receive.h  requests of every kind of client
 */
#pragma once

#include "pipeline/receive.h"
