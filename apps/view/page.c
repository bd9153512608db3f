#include "page.h"
const unsigned char view_page[] = "<!doctype html><title>soa</title>";
const size_t view_page_size = sizeof view_page - 1;
const unsigned char view_playground[] = "";
const size_t view_playground_size = 0;
