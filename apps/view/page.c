/* page.c  the built pages as bytes. The assembler includes the files (named by cmake/web.cmake).
 * Each is followed by a 0 that is not counted. A page that was not built has size 0. */
#include "page.h"
#include <stdint.h>

#if UINTPTR_MAX > 0xffffffffu || defined(__LP64__)
#define WORD ".quad "
#else
#define WORD ".long "
#endif
#define EMBED(name, file)                                                                      \
    __asm__(".section .rodata\n"                                                               \
            ".balign 16\n"                                                                     \
            ".global " #name "\n"                                                              \
            ".hidden " #name "\n"                                                              \
            ".type " #name ", %object\n" #name ":\n"                                           \
            ".incbin \"" file "\"\n"                                                           \
            ".L" #name "_end:\n"                                                               \
            ".byte 0\n"                                                                        \
            ".size " #name ", . - " #name "\n"                                                 \
            ".balign 16\n"                                                                     \
            ".global " #name "_size\n"                                                         \
            ".hidden " #name "_size\n"                                                         \
            ".type " #name "_size, %object\n" #name "_size:\n" WORD ".L" #name "_end - " #name \
            "\n"                                                                               \
            ".size " #name "_size, . - " #name "_size\n"                                       \
            ".text\n")

#ifdef VIEW_PAGE_FILE
EMBED(view_page, VIEW_PAGE_FILE);
#else
const unsigned char view_page[1] = {0};
const size_t view_page_size = 0;
#endif

#ifdef VIEW_PLAYGROUND_FILE
EMBED(view_playground, VIEW_PLAYGROUND_FILE);
#else
const unsigned char view_playground[1] = {0};
const size_t view_playground_size = 0;
#endif
