/*
 * check/error_text.c
 *		Positions of errors in a statement that is not the client's.
 */
#include "postgres.h"

#include "check/error_text.h"

/* PostgreSQL has noted a place in the text as one in the statement of the client. */
static void
move_error_position(void *text)
{
	int position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position);
	internalerrquery(text);
}

void
check_begin_text(ErrorContextCallback *callback, const char *text)
{
	callback->callback = move_error_position;
	callback->arg = unconstify(char *, text);
	callback->previous = error_context_stack;
	error_context_stack = callback;
}

void
check_end_text(const ErrorContextCallback *callback)
{
	error_context_stack = callback->previous;
}
