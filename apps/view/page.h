/* page.h  the page and the playground, built from web/ into the program. */
#ifndef VIEW_PAGE_H
#define VIEW_PAGE_H
#include <stddef.h>
extern const unsigned char view_page[], view_playground[];
extern const size_t view_page_size, view_playground_size; /* 0: not built in */
#define VIEW_NO_PAGE                                                                            \
    "this program was built without its page: node or npm was missing, or npm could not fetch " \
    "its packages; the "                                                                        \
    "build's configure.log says which"
#endif
