/*
 * pg_compat.h
 *		The differences between PostgreSQL 15, 16, 17 and 18, in one place.
 *
 * Wrappers carry the name and the shape of the newest release's interface.
 */
#ifndef GPUSORT_PG_COMPAT_H
#define GPUSORT_PG_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "gpusort builds on PostgreSQL 15 to 18"
#endif

#endif							/* GPUSORT_PG_COMPAT_H */
