/*
 * The agent profiles the processes of this machine. A capture (capture.h) collects samples from the
 * kernel; a window (window.h) turns them into profiles.
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
