/*
 * The agent: what runs on this machine, as profiles. A capture (capture.h) gathers samples from
 * the kernel; a window (window.h) makes profiles of them.
 */
#pragma once

#include "agent/agent_settings.h"
#include "agent/capture.h"
#include "agent/confine.h"
#include "agent/control.h"
#include "agent/daemon.h"
#include "agent/doctor.h"
#include "agent/names.h"
#include "agent/own_events.h"
#include "agent/targets.h"
#include "agent/window.h"
