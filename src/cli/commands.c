/*
 * The table of commands, in the order people read about them.
 */
#include "cli/command.h"

const struct command *const commands[] = {
	&command_show,	     &command_top,     &command_flame,	  &command_diff,
	&command_convert,    &command_redact,  &command_record,	  &command_live,
	&command_agent,	     &command_doctor,  &command_up,	  &command_server,
	&command_push,	     &command_query,   &command_services, &command_labels,
	&command_types,	     &command_status,  &command_delete,	  &command_retention,
	&command_backup,     &command_check,   &command_token,	  &command_symbols,
	&command_completion, &command_version, &command_help,	  NULL,
};

const struct command *command_find(struct str name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (str_eq(str_of((*c)->name), name))
			return *c;
	return NULL;
}
