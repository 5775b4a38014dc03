/*
 * key/collation.c
 *		Who compares text by a collation, and what keys can say of that order.
 */
#include "postgres.h"

#include <langinfo.h>
#include <locale.h>

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/pg_locale.h"
#include "utils/syscache.h"

#include "key/collation.h"
#include "key/icu.h"

/* A collation, as the catalogs describe it. */
typedef struct CollationProvider
{
	char letter;  /* COLLPROVIDER_... */
	char *name;	  /* what the person who chose it called it */
	char *locale; /* of the C library's, what that calls it; else maybe NULL */
} CollationProvider;

static char *
text_attribute(int cache, HeapTuple tuple, AttrNumber attribute)
{
	bool isnull;
	Datum value = SysCacheGetAttr(cache, tuple, attribute, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

/* It is the same one as long as the database exists. */
static CollationProvider
provider_of_database(void)
{
	static CollationProvider provider = {.name = NULL};
	HeapTuple tuple;
	MemoryContext before;

	if (provider.name != NULL)
		return provider;
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	before = MemoryContextSwitchTo(TopMemoryContext);
	provider.letter = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
	provider.locale = text_attribute(DATABASEOID, tuple, Anum_pg_database_datcollate);
	provider.name = provider.locale != NULL ? provider.locale : pstrdup("default");
	MemoryContextSwitchTo(before);
	ReleaseSysCache(tuple);
	return provider;
}

/* Who compares by this collation. */
static CollationProvider
collation_provider(Oid collation)
{
	HeapTuple tuple;
	CollationProvider provider;

	if (collation == DEFAULT_COLLATION_OID)
		return provider_of_database();
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	provider.letter = ((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	provider.name = pstrdup(NameStr(((Form_pg_collation) GETSTRUCT(tuple))->collname));
	provider.locale = text_attribute(COLLOID, tuple, Anum_pg_collation_collcollate);
	ReleaseSysCache(tuple);
	return provider;
}

/*
 * C.UTF-8 is bytewise in some versions of the C library, and all but bytewise in others.  The name is enough
 * to take it so where the order is verified.
 */
static bool
is_c_of_encoding(const char *locale)
{
	return locale != NULL && pg_strncasecmp(locale, "C.", 2) == 0;
}

/*
 * Is this locale bytewise in the C library that is there?  glibc's strcoll is strcmp if and only if the
 * locale has no rules of how to compare, and tells how many it has.
 */
static bool
has_no_rules(const char *locale)
{
#ifdef __GLIBC__
	locale_t opened = newlocale(LC_COLLATE_MASK, locale, (locale_t) 0);
	const char *rules;
	uint32 count;

	if (opened == (locale_t) 0)
		return false;
	rules = nl_langinfo_l(_NL_COLLATE_NRULES, opened);
	freelocale(opened);

	/* a number of 32 bits in the place of a pointer */
	memcpy(&count, &rules, sizeof(count));
	return count == 0;
#else
	return false;
#endif
}

/* The same; the locale asked for last is remembered, for a query asks for each of its columns. */
static bool
is_bytewise(const char *locale)
{
	static char asked[NAMEDATALEN];
	static bool answer;

	if (strlen(locale) >= sizeof(asked))
		return false;
	if (strcmp(locale, asked) != 0)
	{
		answer = has_no_rules(locale);
		strcpy(asked, locale);
	}
	return answer;
}

static TextOrder
order_of_provider(const CollationProvider *provider)
{
	if (provider->letter != COLLPROVIDER_LIBC)
		return TEXT_ICU;
	return is_c_of_encoding(provider->locale) ? TEXT_LIBC_BYTEWISE : TEXT_LIBC;
}

TextOrder
sort_key_text_order(Oid collation)
{
	CollationProvider provider;

	if (pg_collate_is_c(collation))
		return TEXT_BYTEWISE;
	provider = collation_provider(collation);
	return order_of_provider(&provider);
}

bool
sort_key_describe_collation(Oid collation, TextOrder *order, bool *verified, Declined *why_not)
{
	CollationProvider provider;
	SortKeyTrust trust;
	const char *setting;

	*order = TEXT_BYTEWISE;
	if (!OidIsValid(collation))
		return declined_because(why_not, DECLINED_COLLATION,
								"no collation could be derived for the sort column");
	if (pg_collate_is_c(collation))
		return true;

	provider = collation_provider(collation);
	*order = order_of_provider(&provider);
	if (*order == TEXT_LIBC_BYTEWISE && is_bytewise(provider.locale))
	{
		*order = TEXT_BYTEWISE;
		return true;
	}
	*verified = *order != TEXT_ICU;
	if (*verified)
		return true;
	if (provider.letter != COLLPROVIDER_ICU)
		return declined_because(why_not, DECLINED_COLLATION,
								psprintf("collation \"%s\" of provider unknown has no exact sort key",
										 provider.name));
	trust = sort_key_icu_trust(collation, &setting);
	if (trust == SORT_KEY_WRONG)
		return declined_because(why_not, DECLINED_COLLATION,
								psprintf("collation \"%s\" of provider icu has no exact sort key: %s",
										 provider.name, setting));
	*verified = trust == SORT_KEY_GUESS;
	return true;
}

bool
sort_key_decline_guess(Oid collation, Declined *why_not)
{
	CollationProvider provider = collation_provider(collation);

	return declined_because(why_not, DECLINED_COLLATION,
							psprintf("collation \"%s\" of provider %s has no exact sort key", provider.name,
									 provider.letter == COLLPROVIDER_LIBC ? "libc" : "icu"));
}
