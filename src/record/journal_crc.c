/* journal_crc.c  CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), by eight tables or by the
 * processor's instruction.
 *
 * The test values are in RFC 3720, appendix B.4. The checksum finds every error within at most 32
 * successive bits. */
#include "journal_format.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_CRC32 1
#include <nmmintrin.h>
__attribute__((target("sse4.2"))) static uint32_t add_hardware(uint32_t crc, const uint8_t *p,
                                                               size_t size) {
    uint64_t c = crc;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t x;
        memcpy(&x, p, 8);
        c = _mm_crc32_u64(c, x);
    }
    crc = (uint32_t)c;
    for (; size; --size)
        crc = _mm_crc32_u8(crc, *p++);
    return crc;
}
#endif

void soai_crc_init(soai_crc *c) {
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t x = i;
        for (int bit = 0; bit < 8; ++bit)
            x = x >> 1 ^ (x & 1 ? 0x82f63b78u : 0);
        c->table[0][i] = x;
    }
    for (int k = 1; k < 8; ++k)
        for (int i = 0; i < 256; ++i)
            c->table[k][i] = c->table[k - 1][i] >> 8 ^ c->table[0][c->table[k - 1][i] & 255];
    c->hardware = 0;
#ifdef HAVE_CRC32
    c->hardware = __builtin_cpu_supports("sse4.2") != 0;
#endif
}

uint32_t soai_crc_add(const soai_crc *c, uint32_t crc, const void *data, size_t size) {
    const uint8_t *p = data;
    crc = ~crc;
#ifdef HAVE_CRC32
    if (c->hardware) return ~add_hardware(crc, p, size);
#endif
    for (; size >= 8; size -= 8, p += 8) {
        const uint32_t low = crc ^ get_u32(p), high = get_u32(p + 4);
        crc = c->table[7][low & 255] ^ c->table[6][low >> 8 & 255] ^ c->table[5][low >> 16 & 255] ^
              c->table[4][low >> 24] ^ c->table[3][high & 255] ^ c->table[2][high >> 8 & 255] ^
              c->table[1][high >> 16 & 255] ^ c->table[0][high >> 24];
    }
    for (; size; --size)
        crc = crc >> 8 ^ c->table[0][(crc ^ *p++) & 255];
    return ~crc;
}

static uint32_t head_crc(const soai_crc *c, const uint8_t head[HEAD], uint64_t offset) {
    uint8_t bytes[20];
    put_u64(bytes, offset);
    memcpy(bytes + 8, head, 12);
    return soai_crc_add(c, 0, bytes, sizeof bytes);
}
void soai_head_put(const soai_crc *c, uint8_t head[HEAD], uint64_t offset, uint32_t type,
                   uint32_t length, uint32_t payload_crc) {
    put_u32(head, type);
    put_u32(head + 4, length);
    put_u32(head + 8, payload_crc);
    put_u32(head + 12, head_crc(c, head, offset));
}
int soai_head_good(const soai_crc *c, const uint8_t head[HEAD], uint64_t offset) {
    return get_u32(head + 12) == head_crc(c, head, offset);
}
