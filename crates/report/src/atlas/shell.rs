//! The frame of each page of an atlas: its head, the way to the other pages, and its foot.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Atlas;
use crate::wording::{one_line, shorten};

const STYLE: &str = include_str!("atlas.css");

/// A page runs no script and loads nothing but its site's own pictures, even if foreign markup got into it.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src 'self' data:; style-src 'unsafe-inline'";

/// The most characters of a description: search engines show no more.
const DESCRIPTION: usize = 300;

/// A page under its title. The description is the answer in a sentence, which a search engine can show.
pub(super) fn page(atlas: &Atlas, title: &str, description: &str, body: &Markup) -> Markup {
    page_with_card(atlas, title, description, None, body)
}

/// A page with a picture for previews, below the site's folder.
pub(super) fn page_with_card(
    atlas: &Atlas,
    title: &str,
    description: &str,
    card: Option<&str>,
    body: &Markup,
) -> Markup {
    let title = one_line(title);
    let description = shorten(&one_line(description), DESCRIPTION, "…");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content="fsverdict";
                meta name="color-scheme" content="light dark";
                meta name="description" content=(description);
                meta property="og:title" content=(title);
                meta property="og:description" content=(description);
                @if let Some(card) = card {
                    meta property="og:image" content=(card);
                    meta name="twitter:card" content="summary_large_image";
                }
                title { (title) " – atlas of filesystems" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header {
                    nav.site aria-label="Site" {
                        b { a href="index.html" { "Atlas of filesystems" } }
                        a href="questions.html" { "Questions" }
                        a href="kinds.html" { "Devices" }
                        a href="filesystems.html" { "Filesystems" }
                        a href="kernels.html" { "Kernels" }
                        a href="studies.html" { "Five studies" }
                    }
                }
                main #main { (body) }
                footer {
                    p { (atlas.describe_origin()) ". Each cell is a run of fsverdict in simulated time: its page has the plan that repeats it. Models of devices are wrong by amounts that each page states; your drive is one of a class." }
                }
            }
        }
    }
}

pub(super) fn link(address: &str, text: &str) -> Markup {
    html! { a href=(address) { (one_line(text)) } }
}
