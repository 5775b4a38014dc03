/*
 * plan/own_functions.h
 *		PostgreSQL's functions that return the same in every process of a sort's own parallel mode.
 */
#ifndef GPUSORT_PLAN_OWN_FUNCTIONS_H
#define GPUSORT_PLAN_OWN_FUNCTIONS_H

#include "postgres.h"

/* Is the function on the list? */
extern bool own_function_is_listed(Oid function);

#endif /* GPUSORT_PLAN_OWN_FUNCTIONS_H */
