"""Common words of English and of other languages, by which they are told apart."""

ENGLISH = frozenset(
    """
    the a an and or of to is are was were be been have has had do does did not don't doesn't can't it's i'm you're
    that this these those it you your they them their we our he she his i'd i'll with from for by on at as but if so than
    then because what when where which who how why would could should will can may might must there here about into
    more some many most very also only just please my me i no yes ok thanks thank hi hello up out any all been being""".split()
)
FOREIGN = frozenset(
    """
    og ikke det jeg er du en et som med til på av å har kan skal vil fra hvis eller men din ditt mot når blir også være
    der die das und nicht ist sie ich ein eine mit zu den dem auf für von sich auch wenn oder bei aus wird sind haben
    ihre el la los las que de y es en un una por para con no se su del al como pero más si lo son tiene puede usted le
    les des est et une dans pour que qui ne pas vous votre sur avec sont du au ce il elle nous mais ou être je nie jest
    w z na że do się to co jak dla ale czy być przez od lub pani pan il che non di per sono della e o os as um uma não com
    och inte att det som är jag ett på van het een niet dat ik je zijn voor met""".split()
) - frozenset("no so do to as or me up on at in is all may e o z w pan con".split())
