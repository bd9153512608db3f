/* digest.h  SHA-256 (FIPS 180-4), for the list of scripts that a page may run. */
#ifndef VIEW_DIGEST_H
#define VIEW_DIGEST_H
#include <stddef.h>

void view_sha256(const unsigned char *data, size_t size, unsigned char digest[32]);

#endif
