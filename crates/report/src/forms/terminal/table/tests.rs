//! Tests of tables on a terminal.

use super::aligned;
use crate::wording::TextTable;

#[test]
fn each_part_of_a_broken_table_tells_its_rows_apart() {
    let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
    let rows = vec![row(["ext4", "inodes", "17", "3"]), row(["ext4", "data", "40", "9"])];
    let table = TextTable::new("", &["candidate", "held", "unharmed", "lost"], rows);
    let lines = aligned(&table, 26, &[], 1);
    assert_eq!(lines.iter().filter(|line| line.contains("inodes")).count(), 2, "{lines:?}");
    // Where the name is enough, it stands alone.
    let one = TextTable { rows: table.rows[..1].to_vec(), ..table };
    let lines = aligned(&one, 26, &[], 1);
    assert_eq!(lines.iter().filter(|line| line.contains("inodes")).count(), 1, "{lines:?}");
}
