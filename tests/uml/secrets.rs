//! What only root may read is not seen in a guest.

use crate::common::labs::secrets::{said, secrets_are_not_seen};
use crate::common::{Place, is_root, one_command};

#[test]
fn uml_a_phase_sees_no_secret_in_a_guest() {
    let place = Place::new();
    if is_root() {
        return secrets_are_not_seen("uml");
    }
    place.run(&one_command("uml", "head -c 1 /etc/shadow && echo SEEN; true"), &[]).exits(0);
    assert_eq!(said(&place), Vec::<String>::new());
}
