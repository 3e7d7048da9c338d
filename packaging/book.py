#!/usr/bin/env python3
"""Two helpers of the book in docs.

As a preprocessor of mdbook (see docs/book.toml), it turns links to files outside of docs into links to the repository, and links to README.md into links to index.md.
`book.py check FOLDER` finds links in a built book that lead nowhere, except links to other sites.
"""

import html.parser
import json
import pathlib
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def book_links(text, page):
    """The text of a page (a path in docs) with links as the book needs them."""
    manifest = (ROOT / "Cargo.toml").read_text()
    repository = re.search(r'^repository = "(.*)"$', manifest, re.MULTILINE)[1]

    def book_link(link):
        path, anchor = link[1], link[2] or ""
        target = (DOCS / page).parent.joinpath(path).resolve()
        if not target.is_relative_to(ROOT) or not target.exists():
            return link[0]
        if not target.is_relative_to(DOCS):
            kind = "tree" if target.is_dir() else "blob"
            return f"]({repository}/{kind}/main/{target.relative_to(ROOT)}{anchor})"
        # mdbook writes it as index.html, but leaves links to it as they are.
        return f"]({path.removesuffix('README.md')}index.md{anchor})" if target.name == "README.md" else link[0]

    return re.sub(r"\]\(([^()#:\s]+)(#[^()\s]*)?\)", book_link, text)


def rewrite(part):
    """Rewrites all chapters in a part of the JSON that mdbook sends."""
    if isinstance(part, dict):
        if part.get("source_path") and "content" in part:
            part["content"] = book_links(part["content"], part["source_path"])
        for value in part.values():
            rewrite(value)
    elif isinstance(part, list):
        for value in part:
            rewrite(value)


class Page(html.parser.HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken_links(book):
    pages = {path: Page(path.read_text()) for path in book.rglob("*.html")}
    # It repeats all pages, and the error page is served in any folder.
    repeated = {book / "print.html", book / "404.html"}
    for path, page in sorted(pages.items()):
        for link in page.links if path not in repeated else ():
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = path.parent.joinpath(urllib.parse.unquote(url.path)).resolve() if url.path else path
            if not target.is_relative_to(book) or not target.is_file():
                yield f"{path.relative_to(book)}: {link} leads nowhere"
            elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(book)}: {link} has no such heading"


def main(arguments):
    match arguments:
        case ["supports", renderer]:
            return 0 if renderer == "html" else 1
        case ["check", folder]:
            book = pathlib.Path(folder).resolve()
            if not (book / "index.html").is_file():
                print(f"{folder} is no built book: it has no index.html", file=sys.stderr)
                return 2
            broken = list(broken_links(book))
            print("\n".join(broken) or "Every link of the book leads somewhere.")
            return 1 if broken else 0
        case []:
            _, book = json.load(sys.stdin)
            rewrite(book)
            json.dump(book, sys.stdout)
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
